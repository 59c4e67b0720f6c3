"""Functions that lack an attribute or a default at first; code that catches the error, or asks by hasattr."""


def helper(y=1.0):
    return y


def plain():
    return 1.0


def needy(y):
    return y


class Layer:
    def step(self):
        return 1.0


layer = Layer()


def program(jit):
    @jit
    def step(x):
        try:
            k = helper.scale
        except AttributeError:
            k = 1.0
        try:
            need = needy()
        except TypeError:
            need = 1.0
        fast = 2 if getattr(layer.step, "fast", False) else 1
        return x * k * need * fast * (3 if hasattr(plain, "fast") else 1)

    seen = [float(step(1.0))]
    helper.scale = 3.0
    seen.append(float(step(1.0)))
    Layer.step.fast = True
    seen.append(float(step(1.0)))
    needy.__defaults__ = (5.0,)
    seen.append(float(step(1.0)))
    plain.fast = True
    seen.append(float(step(1.0)))
    del helper.scale
    seen.append(float(step(1.0)))
    return {"seen": seen}
