"""Dicts in state get keys that the call makes: changing numbers, tuples, new objects, functions, dataclasses."""

import collections
import dataclasses
import weakref


@dataclasses.dataclass(frozen=True)
class Key:
    step: int


class Token:
    pass


def helper(x):
    return x


class Log:
    def __init__(self):
        self.step, self.last = 0, None
        self.history, self.pairs, self.recent, self.by_key, self.by_token = {}, {}, {}, {}, {}
        self.by_function, self.counts, self.target = {}, collections.Counter(), Token()
        self.by_reference = {weakref.ref(self.target): 0.0}

    def write(self, x):
        self.step += 1
        self.history[self.step] = x
        self.pairs[self.step, "a"] = x
        self.recent.setdefault(self.step, x)
        self.recent.pop(self.step - 2, None)
        self.by_key[Key(self.step)] = x
        self.counts[self.step // 2] += 1
        self.last = Token()
        self.by_token[self.last] = x
        self.by_function[helper, 1] = self.by_function[helper] = x
        for reference in self.by_reference:
            self.by_reference[reference] = x
        return {self.step: x}


def program(jit):
    log = Log()
    write = jit(log.write)
    seen = []
    for value in (1.0, 2.0, 3.0, 4.0):
        made = write(value)
        seen.append([(type(key).__name__, key, float(v)) for key, v in made.items()])
        seen.append(log.last in log.by_token)
    seen.append([(type(key).__name__, key, float(v)) for key, v in log.history.items()])
    seen.append([list(log.pairs), list(log.recent), [(type(k.step).__name__, k.step) for k in log.by_key]])
    seen.append([log.counts[1], len(log.by_token), list(log.by_function) == [(helper, 1), helper]])
    seen.append([(key() is log.target, float(v)) for key, v in log.by_reference.items()])
    seen.append([float(v) for v in log.by_key.values()])
    return seen
