"""NumPy arrays of objects, strings, dates, records, masks and of one's own class, changed inside and outside."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np


class Obj:
    pass


class Tagged(np.ndarray):
    scale = 1.0

    def scaled(self):
        return self.scale * self.tag


def program(jit):
    parts = (written, elements, made_inside, in_grad, masks, own_class, record, shapes)
    return {part.__name__: part(jit) for part in parts}


def written(jit):
    objects, text = np.array([None], object), np.array(["a"])
    records, day = np.zeros(1, [("x", "f4")]), np.array(["2020-01-01"], "M8[D]")
    masked, hidden = np.ma.array([1.0]), np.ma.array([1.0, 2.0], mask=[True, False])

    @jit
    def f(x):
        objects[0] = 5
        text[0] = "z"
        records["x"][0] = 5
        day[0] = "2021-01-01"
        masked[0] = 5.0
        hidden[0], hidden[1] = 3.0, np.ma.masked
        return x

    def look():
        numbers = float(records["x"][0]), float(masked[0]), hidden.tolist(), masked.mask is np.ma.nomask
        return [objects[0], str(text[0]), str(day[0]), *numbers]

    f(1.0)
    seen = [look()]
    objects[0], text[0], masked[0] = 6, "q", 7.0
    f(1.0)
    return [*seen, look()]


def elements(jit):
    table = np.array([[1.0, [1.0]], [Obj(), None]], object)
    held = table[1, 0]
    held.s = 2.0

    @jit
    def f(x):
        table[0, 1].append(x)
        table[1, 1] = x
        table[1, 0].s = table[1, 0].s + x
        return table[1, 0].s * table[0, 0] + len(table[0, 1])

    seen = [float(f(1.0)), float(f(2.0))]
    held.s = 9.0
    seen.append(float(f(1.0)))
    table[0, 0], table[0, 1] = 3.0, []
    seen.append(float(f(1.0)))
    return [*seen, float(table[1, 1]), len(table[0, 1]), table[1, 0] is held, float(held.s)]


def made_inside(jit):
    table = np.array([1.0, [2.0]], object)

    @jit
    def f(x):
        new = np.empty(2, "O")
        new[0], new[1] = x, table[1]
        return table, new, table[1:]

    (same, new, part), (_, other, _) = f(5.0), f(6.0)
    part[0] = 8.0
    return [same is table, new is other, type(new).__name__, float(new[0]), float(other[0]), float(table[1])]


def in_grad(jit):
    log = np.array([None], object)

    @jit
    def f(w):
        def loss(w):
            log[0] = w * w
            return w * w

        return jax.value_and_grad(loss)(w)

    value, slope = f(3.0)
    logged = 9.0 if isinstance(log[0], jax.core.Tracer) else float(log[0])  # eager code leaks it
    return [float(value), float(slope), logged]


def masks(jit):
    table = np.ma.array([1.0, 2.0])
    f = jit(lambda x: x * float(table.sum()))
    seen = [float(f(1.0)), float(f(1.0))]
    table[0] = np.ma.masked
    seen.append(float(f(1.0)))
    table.mask = np.ma.nomask
    return [*seen, float(f(1.0))]


def own_class(jit):
    table = np.ones(2).view(Tagged)
    table.tag = jnp.float32(2.0)

    @jit
    def f(x):
        table.tag = table.tag + x
        table[0] = 3.0
        return table.scaled() * x + float(table[1])

    seen = [float(f(1.0)), float(f(1.0))]
    Tagged.scale = 3.0
    seen.append(float(f(1.0)))
    table[1], Tagged.scale = 9.0, 1.0
    return [*seen, float(f(1.0)), float(table.tag), np.asarray(table).tolist()]


def record(jit):
    held = Obj()
    held.record = np.zeros(1, [("x", "f4")])[0]

    @jit
    def f(x):
        before = float(held.record["x"])
        held.record["x"] = 5
        return x * before

    seen = [float(f(1.0)), float(held.record["x"])]
    held.record["x"] = 3.0
    return [*seen, float(f(1.0)), float(held.record["x"])]


def shapes(jit):
    table = np.arange(4.0)

    @jit
    def f(x):
        table.shape = (2, 2)
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of newer versions of NumPy
        f(1.0)
        seen = [list(table.shape)]
        table.shape = (4,)
        f(1.0)
    return [*seen, list(table.shape)]
