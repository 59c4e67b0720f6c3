"""An element of a set, or a key of a dict, is replaced by another one that is equal to it."""


class Alike:
    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return True


def program(jit):
    one, other = Alike("one"), Alike("other")
    numbers, things, table = {1, 1000, "a"}, {one}, {1: "x", "k": "y"}

    @jit
    def replace(x):
        numbers.discard(1)
        numbers.add(True)
        numbers.add(7)
        things.discard(one)
        things.add(other)
        table[True] = table.pop(1)
        return x

    def look():
        return [sorted(map(repr, numbers)), [t.name for t in things], list(map(repr, table.items()))]

    seen = [float(replace(1.0)), look()]
    numbers.discard(7)
    numbers.discard(True)
    numbers.add(1)
    table.clear()
    table.update({1: "z"})
    return [*seen, float(replace(1.0)), look()]
