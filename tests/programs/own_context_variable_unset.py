"""Context variables that have no value at first: defaults of all kinds, and LookupError."""

import contextvars


def program(jit):
    listed, unset = contextvars.ContextVar("listed"), contextvars.ContextVar("unset")
    declared = contextvars.ContextVar("declared", default=[1.0])
    fallback = [1.0]

    @jit
    def step(x):
        try:
            k = unset.get()
        except LookupError:
            k = 2.0
        return x * k * listed.get(fallback)[0] * declared.get()[0] * declared.get([3.0])[0]

    seen = [float(step(1.0))]
    fallback[0] = 2.0
    seen.append(float(step(1.0)))
    listed.set([3.0])
    seen.append(float(step(1.0)))
    unset.set(7.0)
    seen.append(float(step(1.0)))
    declared.set([2.0])
    seen.append(float(step(1.0)))
    return {"seen": seen}
