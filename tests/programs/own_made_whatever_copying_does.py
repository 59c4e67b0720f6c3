"""New objects of classes that want themselves copied in another way, or that have an ``__init__`` of their own."""

import array
import collections

import jax.numpy as jnp

counts = collections.Counter()


class Halves:
    """What copying does has not happened to the object."""

    def __init__(self, a):
        counts["halves"] += 1
        self.a = a

    def __reduce__(self):
        return Halves, (self.a / 2,)

    def __del__(self):
        self.a = None


class ByDefault(collections.defaultdict):
    def __init__(self):
        super().__init__(list)
        self.tag = counts["default"] = counts["default"] + 1


class Ordered(collections.OrderedDict):
    def __init__(self, required):
        super().__init__(first=1, second=2)
        self.required = required


class Tags(set):
    def __init__(self, n):
        super().__init__(range(n))


class Window(collections.deque):
    def __init__(self, n):
        super().__init__(maxlen=n)


class Bytes(bytearray):
    def __init__(self, n):
        super().__init__(n)


class Ints(array.array):
    def __new__(cls, n):
        return super().__new__(cls, "i", [7] * n)


class Frozen(frozenset):
    def __new__(cls, n):
        return super().__new__(cls, range(n))


class Failed(Exception):
    def __init__(self, code, why):
        super().__init__(code)
        counts["failed"] += 1
        self.why = why


def shown(error):
    return [type(error).__name__, [str(arg) for arg in error.args], getattr(error, "__notes__", None)]


def program(jit):
    counts.clear()
    kept = {}

    @jit
    def containers(x):
        windows = Window(2)
        windows.extend([1, x, 3])
        lists = ByDefault()
        lists["z"].append(x)
        ordered = Ordered("r")
        ordered.move_to_end("first")
        plain = collections.OrderedDict(first=1, second=2)
        plain.move_to_end("first")
        return Halves(8), lists, ordered, plain, Tags(2), windows, Bytes(2), Ints(2), Frozen(2)

    @jit
    def errors(x):
        try:
            try:
                raise KeyError("k")
            except KeyError as cause:
                raise Failed(x, "because") from cause
        except Failed as error:
            error.add_note("noted")
            kept["error"] = error
        missing = OSError(2, "not there", "a.txt")
        group = ExceptionGroup("several", [Failed(1, "one"), ValueError("two")])
        return missing, group, UnicodeDecodeError("utf8", b"ab", 0, 1, "bad"), StopIteration(x)

    seen = []
    for x in (1.0, 2.0, 3.0):
        halves, lists, ordered, plain, tags, window, some, ints, frozen = containers(jnp.float32(x))
        seen += [halves.a, float(lists["z"][0]), lists["new"], lists.tag, list(ordered), ordered.required]
        seen += [list(plain), sorted(tags), [float(v) for v in window], window.maxlen, list(some)]
        seen += [ints.tolist(), sorted(frozen), type(ints).__name__, type(frozen).__name__]
        missing, group, decode, stop = errors(jnp.float32(x))
        seen += [str(missing), missing.filename, missing.errno, str(decode), float(stop.value)]
        seen += [group.message, [shown(e) for e in group.exceptions], group.exceptions[0].why]
        error = kept["error"]
        seen += [float(error.args[0]), error.why, error.__notes__, shown(error.__cause__)]
        seen += [error.__suppress_context__, shown(error.__context__)]
    return seen
