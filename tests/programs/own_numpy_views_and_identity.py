"""NumPy arrays made inside, views of them and of captured ones: what shares memory goes on sharing it."""

import numpy as np


class Obj:
    pass


def program(jit):
    return {"views": views(jit), "log": log(jit), "order": order(jit)}


def views(jit):
    o = Obj()
    o.m, o.big, o.names = np.zeros((2, 2)), np.zeros((4, 4)), np.array(["a", "b"])
    o.part, m = o.big[1:3, ::2], o.m

    @jit
    def f(x):
        new = np.zeros(2)
        o.a = o.b = new
        o.v = new[1:]
        o.t, o.part_t, o.corner = o.m.T, o.part.T, o.part[::-1, ::-1].T[:1]
        o.out = np.add(o.m, 0, out=o.m)
        o.same, o.wide, o.last = np.asarray(o.m), np.broadcast_to(o.m, (2, 2, 2)), o.names[::-1]
        return np.add(o.m, 0, out=o.m) is o.m

    seen = []
    for i in range(3):
        inside = bool(f(1.0))
        o.m[0, 1], o.a[1], o.names[1] = 7.0 + i, 7.0 + i, "z"
        o.big[:] = np.arange(16.0).reshape(4, 4)
        numbers = o.v, o.t, o.part_t, o.corner, o.wide, o.last
        is_same = o.a is o.b, o.out is o.m, o.same is o.m, o.m is m, o.wide.flags.writeable
        seen.append([inside, *is_same, *(n.tolist() for n in numbers)])
        if i == 1:
            o.m = m = np.asfortranarray(np.zeros((2, 2)))
    return seen


def log(jit):
    table = np.zeros(3)

    @jit
    def f(x):
        where, what = np.array([0]), np.array([4.0])
        table[where] = x
        table[1:2] = what
        where[0], what[0] = 2, 9.0
        return x

    f(5.0)
    return table.tolist()


def order(jit):
    o = Obj()
    o.table = np.arange(6.0).reshape(2, 3).T

    @jit
    def f(x):
        return [float(v) for v in o.table.ravel(order="K")]

    seen = [f(1.0)]
    o.table = o.table.copy(order="C")
    return [*seen, f(1.0)]
