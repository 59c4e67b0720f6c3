"""Attributes and keys that are deleted and set again come last, as new ones do."""

import types


class Thing:
    def __init__(self):
        self.a, self.b, self.c = 1.0, 2.0, 3.0


def program(jit):
    one, two, three = Thing(), Thing(), Thing()
    table, names = {"a": 1.0, "b": 2.0}, types.SimpleNamespace(a=1.0, b=2.0)

    @jit
    def again(x):
        value = one.a
        del one.a
        one.a = value
        return x

    @jit
    def through_vars(x):
        attributes = vars(two)
        attributes["new"] = 4.0
        attributes["b"] = attributes.pop("b")
        return list(attributes), x

    @jit
    def looking(x):
        three.new = 4.0
        value = three.b
        del three.b
        three.b = value
        return list(vars(three)), x

    @jit
    def containers(x):
        value = table.pop("b")
        table["new"] = 4.0
        table["b"] = value
        value = names.a
        del names.a
        names.new = 4.0
        names.a = value
        return x

    seen = []
    for _ in range(3):
        again(1.0)
        seen += [through_vars(1.0)[0], looking(1.0)[0]]
        containers(1.0)
        seen += [list(map(list, map(dict.items, map(vars, (one, two, three, names))))), list(table.items())]
        one.b = one.b + 1.0
    return seen
