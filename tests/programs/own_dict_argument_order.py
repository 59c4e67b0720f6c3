"""A dict that is passed as an argument is seen in the caller's order, and so are the dicts inside it."""

from collections import OrderedDict, defaultdict

import jax


class Log:
    names = ()


def program(jit):
    log = Log()

    @jit
    def fold(table):
        y = 0.0
        for value in table.values():
            y = 2 * y + value
        log.names = list(table)
        return y

    @jit
    def step(params):
        log.names = [list(layer) for layer in params["layers"]]
        params["layers"][0]["new"] = 1.0
        return jax.tree.map(lambda v: 2 * v, params)

    @jit
    def write(table):
        table["n"] = 2 * table["b"]
        return table["n"]

    seen = []
    for kind in (dict, OrderedDict, lambda pairs: defaultdict(float, pairs)):
        for pairs in ([("b", 1.0), ("a", 2.0)], [("a", 2.0), ("b", 1.0)], [("b", 1.0), ("a", 2.0)]):
            table = kind(pairs)
            seen += [float(fold(table)), log.names, float(write(table)), list(table), float(table["n"])]
    params = {"layers": [{"b": 1.0, "a": 2.0}, {"d": 3.0, "c": 4.0}], "bias": 5.0}
    for _ in range(3):
        new = step(params)
        seen += [log.names, list(params), list(params["layers"][0]), list(new)]
        params = new
        del params["layers"][0]["new"]
    return seen
