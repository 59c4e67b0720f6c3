"""Metrics in a defaultdict of lists are only appended to; the factory makes what is new, or gone."""

import collections

WANT_COMPILES = 4


class Metrics:
    def __init__(self):
        self.history = collections.defaultdict(list)

    def log(self, **values):
        for name, value in values.items():
            self.history[name].append(value)


def program(jit):
    metrics = Metrics()

    @jit
    def step(x):
        metrics.log(loss=x * x, twice=2 * x)
        return x + 1

    for i in range(6):
        step(float(i))
    lengths = {name: len(values) for name, values in metrics.history.items()}
    del metrics.history["loss"]
    for i in range(3):
        step(float(i))
    return [lengths, {name: [float(v) for v in values] for name, values in metrics.history.items()}]
