"""Whether two records compute the same thing: then one compiled function serves both programs.

A flag that changes guards but not the arithmetic (a name, a log level, ``0`` against ``0.0``) must
not cost an XLA compilation. Compared by structure and bits; what cannot be compared counts as different.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from freshjit import _compat
from freshjit.programs.checks import same_numpy
from freshjit.state.record import Record, Slot
from freshjit.state.values import is_plain, same_value

__all__ = ["same_computation"]


def same_computation(a: Record, b: Record) -> bool:
    """Whether the two jaxprs, fed by the same inputs in the same order, are equal."""
    if len(a.slots) != len(b.slots) or len(a.constants) != len(b.constants):
        return False
    place_a, place_b = ({id(s): i for i, s in enumerate(r.slots)} for r in (a, b))
    for x, y in zip(a.constants, b.constants, strict=True):
        if isinstance(x, Slot) and isinstance(y, Slot):
            if place_a[id(x)] != place_b[id(y)]:
                return False
        elif x is not y and not _same_array(x, y):
            return False
    return _same_jaxpr(a.jaxpr, b.jaxpr)


def _same_array(x: Any, y: Any) -> bool:
    return isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and same_numpy(x, y)


def _same_jaxpr(a: Any, b: Any) -> bool:
    if _form(a) != _form(b):
        return False
    names: dict[int, Any] = {}

    def same_atom(x: Any, y: Any) -> bool:
        if _compat.is_literal(x) or _compat.is_literal(y):
            both = _compat.is_literal(x) and _compat.is_literal(y)
            return both and x.aval == y.aval and _same_literal(x.val, y.val)
        return names.get(id(x)) is y

    def define(xs: Any, ys: Any) -> bool:
        for x, y in zip(xs, ys, strict=True):
            if x.aval != y.aval:
                return False
            names[id(x)] = y
        return True

    if not define(a.constvars, b.constvars) or not define(a.invars, b.invars):
        return False
    for x, y in zip(a.eqns, b.eqns, strict=True):
        if x.primitive is not y.primitive or x.ctx != y.ctx or x.effects or y.effects:
            return False
        if len(x.invars) != len(y.invars) or len(x.outvars) != len(y.outvars):
            return False
        if not all(map(same_atom, x.invars, y.invars)) or not _same_parameter(x.params, y.params):
            return False
        if not define(x.outvars, y.outvars):
            return False
    return all(map(same_atom, a.outvars, b.outvars))


def _form(jaxpr: Any) -> tuple[int, ...]:
    return len(jaxpr.constvars), len(jaxpr.invars), len(jaxpr.eqns), len(jaxpr.outvars)


def _same_literal(x: Any, y: Any) -> bool:
    if type(x) is not type(y):
        return False
    if is_plain(x) or isinstance(x, np.generic):
        return same_value(x, y)
    return x is y or (np.shape(x) == () and np.asarray(x).tobytes() == np.asarray(y).tobytes())


def _same_parameter(x: Any, y: Any) -> bool:
    if x is y:
        return True
    if type(x) is not type(y):
        return False
    if isinstance(x, dict):
        return x.keys() == y.keys() and all(_same_parameter(x[k], y[k]) for k in x)
    if _compat.is_jaxpr(x):
        consts = _compat.constants_of(x), _compat.constants_of(y)
        same_consts = len(consts[0]) == len(consts[1]) and all(
            p is q or _same_array(p, q) for p, q in zip(*consts, strict=True)
        )
        return same_consts and _same_jaxpr(_compat.inner_jaxpr(x), _compat.inner_jaxpr(y))
    if isinstance(x, (tuple, list)):
        return len(x) == len(y) and all(map(_same_parameter, x, y))
    if is_plain(x):
        return same_value(x, y)
    if isinstance(x, np.ndarray):
        return same_numpy(x, y)
    if callable(x):
        return False  # equal-looking functions need not do the same
    try:
        return bool(x == y)
    except (TypeError, ValueError):
        return False
