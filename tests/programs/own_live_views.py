"""Mapping proxies and views of dicts, made outside, show what the mapping holds at each moment."""

import types
from collections import ChainMap, OrderedDict, defaultdict


def program(jit):
    table, ordered, default = {"a": 1.0}, OrderedDict(a=1.0), defaultdict(float, a=1.0)
    mappings = [table, ordered, default]
    proxies = [types.MappingProxyType(m) for m in (*mappings, ChainMap({"a": 2.0}, table))]
    keys, values, items = ([getattr(m, n)() for m in mappings] for n in ("keys", "values", "items"))

    @jit
    def write(x):
        for mapping in mappings:
            mapping["a"] = mapping["a"] + x
        return sum(proxy["a"] for proxy in proxies) + sum(sum(v) for v in values)

    @jit
    def look(x):
        for proxy in proxies:
            for key in proxy:
                x = 2 * x + proxy[key]
        for view in (*values, (value for view in items for _, value in view)):
            for value in view:
                x = 2 * x + value
        return x, [list(view) for view in keys]

    def both():
        x, names = look(1.0)
        return [float(write(1.0)), float(x), names]

    seen = [both(), both()]
    for mapping in mappings:
        mapping["a"] = 5.0
        seen.append(both())
        mapping["b"] = 3.0
        seen.append(both())
    return seen
