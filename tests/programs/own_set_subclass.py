"""Instances of subclasses of set and frozenset have attributes, methods of their own, and elements with state."""


class Tags(set):
    def __init__(self, name, elements):
        super().__init__(elements)
        self.name, self.added = name, 0

    def add(self, value):
        self.added += 1
        super().add(value)

    def __iter__(self):
        return iter(sorted(set.__iter__(self)))

    def __len__(self):
        return 100


class Slotted(set):
    __slots__ = ("scale",)


class Parts(frozenset):
    def total(self):
        return sum(part.scale for part in self)


class Part:
    scale = 2.0


def program(jit):
    tags, slotted, part = Tags("a", [3, 2]), Slotted([1]), Part()
    parts = Parts([part])
    parts.weight = 1.0
    slotted.scale = 2.0

    @jit
    def run(x):
        tags.add(8)
        tags.add(0)
        for tag in tags:
            x = 2 * x + tag
        slotted.scale = slotted.scale + 1
        slotted.add("x")
        parts.last = x
        part.last = x
        return x * slotted.scale * parts.total() * parts.weight, len(tags), len(slotted), tags.name

    def look():
        y, *rest = run(1.0)
        inside = sorted(set.__iter__(tags)), sorted(map(str, slotted))
        return [float(y), *rest, *inside, tags.added, slotted.scale, float(parts.last), float(part.last)]

    seen = [look(), type(slotted) is Slotted]
    set.discard(tags, 8)
    tags.name = "b"
    seen.append(look())
    part.scale, parts.weight = 3.0, 5.0
    seen.append(look())
    Parts.total = lambda self: 7.0
    Tags.__len__ = lambda self: 50
    return [*seen, look()]
