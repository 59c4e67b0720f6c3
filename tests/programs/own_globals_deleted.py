"""A global that is deleted by ``del``, assigned and deleted again, in functions that call one another."""

import jax.numpy as jnp

setting = 5


def assign(value):
    global setting
    setting = value


def drop():
    global setting
    del setting


def get():
    try:
        return setting
    except NameError:
        return "gone"


def there():
    return "setting" in globals(), globals().get("setting", "none"), "setting" in list(globals())


def number(value):
    return value if isinstance(value, str) else float(value)


def program(jit):
    @jit
    def deletes(x):
        drop()
        return get(), there(), x

    @jit
    def assigns_and_deletes(x):
        assign(7)
        before = get()
        drop()
        return before, get(), there(), x

    @jit
    def deletes_and_assigns(x):
        drop()
        gone = get()
        assign(x)
        return gone, get(), eval("setting")

    seen = []
    for value in (1, 2, 3.5, "text"):
        for function in (deletes, assigns_and_deletes, deletes_and_assigns):
            assign(value)
            parts = function(jnp.float32(2.0))
            seen += [[number(p) if not isinstance(p, tuple) else [str(q) for q in p] for p in parts]]
            seen.append(number(get()))
    return seen
