"""A model keeps a weakref.proxy to its parent, reads and writes through it, and is given another one."""

import weakref


class Parent:
    scale = 2.0

    def __call__(self, x):
        return x * self.scale

    def __getitem__(self, index):
        return self.scale + index


class Names(list):
    pass


class Child:
    pass


def program(jit):
    first, second, names, child = Parent(), Parent(), Names([1.0]), Child()
    second.scale = 7.0
    child.parent, child.names = weakref.proxy(first), weakref.proxy(names)

    @jit
    def f(x):
        child.parent.last = x
        child.names.append(2.0)
        return child.parent(x) + child.parent[1] + child.names[0] + len(child.names)

    seen = [float(f(1.0)), float(first.last), list(names)]
    first.scale = 5.0
    seen += [float(f(3.0)), float(first.last), list(names)]
    names[0] = 9.0
    child.parent = weakref.proxy(second)
    return [*seen, float(f(4.0)), float(first.last), float(second.last), list(names)]
