"""Subclasses of deque, OrderedDict, dict and list override what goes over them, and keep their contents and kind."""

from collections import Counter, OrderedDict, deque


class Window(deque):
    def append(self, value):
        self.pushed = getattr(self, "pushed", 0) + 1
        super().append(value)

    def __iter__(self):
        return iter([7.0])


class Backwards(OrderedDict):
    def __iter__(self):
        return reversed(list(super().__iter__()))


class Sorted(dict):
    def __iter__(self):
        return iter(sorted(dict.keys(self)))

    def __len__(self):
        return 0


class Odd(list):
    def __len__(self):
        return 0

    def __iter__(self):
        return iter([1.0])

    def __getitem__(self, index):
        return 9.0

    def extend(self, values):
        raise RuntimeError("never")


class Count(Counter):
    pass


def program(jit):
    window, backwards = Window([1.0, 2.0], maxlen=3), Backwards(b=2.0, a=1.0)
    ordered, odd, count = Sorted(b=2.0, a=1.0), Odd([1.0, 2.0]), Count(a=1)

    @jit
    def run(x):
        window.append(x)
        x = x * window[0] * len(window) + sum(window)
        for key in backwards:
            x = 3 * x + backwards[key]
        backwards.move_to_end("b")
        for key in ordered:
            x = 3 * x + ordered[key]
        ordered["c"] = 1.0
        odd.append(2.0)
        count.update(["a", "b"])
        return x + sum(odd) * odd[0], window.pushed, window.maxlen, len(ordered), count.most_common(1)[0]

    def look():
        y, *rest = run(1.0)
        return [
            [float(y), *rest],
            [float(v) for v in deque.__iter__(window)],
            [(k, float(v)) for k, v in OrderedDict.items(backwards)],
            [(k, float(v)) for k, v in dict.items(ordered)],
            [float(v) for v in list.__iter__(odd)],
            sorted(count.items()),
        ]

    seen = [look(), look()]
    deque.popleft(window)
    ordered["a"] = 5.0
    backwards["new"] = 4.0
    list.append(odd, 3.0)
    count["z"] = 50
    seen.append(look())
    return seen
