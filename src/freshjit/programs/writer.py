"""The writer: the lines of a generated function, and the names of the objects that they refer to."""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from freshjit.state.held import Kept, may_die
from freshjit.state.path import Path
from freshjit.state.views.numbers import NumberView

__all__ = ["Writer"]

_INLINE = (type(None), bool, int, str)

_SYMBOLS: dict[Any, str] = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}


class Writer:
    """Collects the lines of the function and the objects they refer to.

    Parameters:
        helpers: what the lines may refer to, by name.
        unguarded: paths of dicts whose keys are not known yet when something in them is read. A defaultdict
            would make what it has not.
        miss: what to return if it has not.
    """

    def __init__(self, helpers: Mapping[str, Any], unguarded: Iterable[Path] = (), miss: Any = None) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = dict(helpers)
        self._constants: dict[tuple[int, bool], str] = {}
        self._paths: dict[int, str] = {}
        self._numbers: dict[int, str] = {}
        self._temporaries = 0
        self._unguarded = set(map(id, unguarded))
        self.miss = self.bind(miss, "miss")

    def line(self, text: str, indent: int = 1) -> None:
        self.lines.append("    " * indent + text)

    def bind(self, value: Any, stem: str) -> str:
        """A name for an object, held strongly."""
        name = f"{stem}{len(self.names)}"
        self.names[name] = value
        return name

    def constant(self, value: Any, keep: bool = False) -> str:
        """An expression for an object. What can die with the user's program is held weakly.

        Parameters:
            keep: hold it in any case: the run that the program is made from has made it.
        """
        if type(value) in _INLINE and _can_be_written(value):
            return repr(value)
        known = self._constants.get((id(value), keep))
        if known is None:
            weak = not keep and may_die(value)
            known = self.bind(weakref.ref(value), "weak") + "()" if weak else self.bind(value, "k")
            self._constants[id(value), keep] = known
        return known

    def read(self, path: Path) -> str:
        """The variable that holds what is at ``path``, reading it now if need be."""
        unread: list[Path] = []
        place: Path | None = path
        while place is not None and id(place) not in self._paths:
            unread.append(place)
            place = place.parent
        for place in reversed(unread):
            self._paths[id(place)] = self._read_on(place)
        return self._paths[id(path)]

    def _read_on(self, path: Path) -> str:
        """The same for a path whose parent has been read."""
        if path.step == "root":
            return path.key
        if path.step == "constant":
            return self.constant(path.key(), type(path.key) is Kept)
        assert path.parent is not None
        if path.step == "item" and id(path.parent) in self._unguarded:
            parent, key = self._paths[id(path.parent)], self.constant(path.key)
            self.line(f"if not dict.__contains__({parent}, {key}): return {self.miss}", 2)
        expression = path.code(self._paths[id(path.parent)], self.constant)
        name = f"v{len(self._paths)}"
        self.line(f"{name} = {expression}", 2)
        return name

    def number(self, expression: Any) -> str:
        """The variable that holds a number computed from numbers in state."""
        todo = [expression]
        while todo:
            operands = [o for o in _operands(todo[-1]) if id(o) not in self._numbers]
            if operands and id(todo[-1]) not in self._numbers:
                todo += operands
            else:
                self._compute(todo.pop())
        return self._number(expression)

    def _number(self, expression: Any) -> str:
        """The expression for a number whose operands have been computed."""
        if type(expression) is not NumberView:
            plain = type(expression) in (int, float) and _can_be_written(expression)
            return f"({expression!r})" if plain else self.constant(expression)
        if expression.function is None:
            return self.read(expression.path)
        return self._numbers[id(expression)]

    def _compute(self, expression: Any) -> None:
        if not _is_computed(expression) or id(expression) in self._numbers:
            return
        operands = [self._number(o) for o in expression.operands]
        name = self._numbers[id(expression)] = f"n{len(self._numbers)}"
        symbol = _SYMBOLS.get(expression.function)
        if symbol is not None and len(operands) == 2:
            self.line(f"{name} = {operands[0]} {symbol} {operands[1]}", 2)
        else:
            self.line(f"{name} = {self.function(expression.function)}({', '.join(operands)})", 2)

    def function(self, function: Any) -> str:
        """A name for a function that an expression over numbers uses; those live for ever."""
        stem = getattr(function, "__name__", "").strip("_")
        name = f"{stem if stem.isidentifier() else 'function'}_{id(function)}"
        self.names[name] = function
        return name

    def temporary(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"


def _can_be_written(value: Any) -> bool:
    """Whether source text can say it: not a NaN, nor an int with more digits than Python converts."""
    if type(value) is float:
        return math.isfinite(value)
    return type(value) is not int or value.bit_length() <= _LONGEST


_LONGEST = 1024


def _is_computed(expression: Any) -> bool:
    return type(expression) is NumberView and expression.function is not None


def _operands(expression: Any) -> list[NumberView]:
    return [o for o in expression.operands if _is_computed(o)] if _is_computed(expression) else []
