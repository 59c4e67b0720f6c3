"""The parameters of ``jit``: checked, and resolved to arguments."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, cast

import jax

from freshjit import _compat
from freshjit.state.arguments import POSITIONAL, Argument, parameters_of
from freshjit.state.guards import user_line
from freshjit.state.overrides import Overrides
from freshjit.state.record import Record

__all__ = ["UNSPECIFIED", "Options"]

UNSPECIFIED: Any = inspect.signature(jax.jit).parameters["in_shardings"].default
"""What JAX takes for a sharding of which nothing was said."""


class Options:
    """The parameters of ``jit``, checked, with names and numbers of arguments resolved."""

    def __init__(
        self,
        function: Callable[..., Any],
        in_shardings: Any,
        out_shardings: Any,
        static_argnums: int | Sequence[int] | None,
        static_argnames: str | Iterable[str] | None,
        donate_argnums: int | Sequence[int] | None,
        donate_argnames: str | Iterable[str] | None,
        static: str | Iterable[str] | None,
        dynamic: str | Iterable[str] | None,
        strict: bool,
        others: dict[str, Any],
    ) -> None:
        jax_parameters: dict[str, Any] = {
            "in_shardings": in_shardings,
            "out_shardings": out_shardings,
            "static_argnums": static_argnums,
            "static_argnames": static_argnames,
            "donate_argnums": donate_argnums,
            "donate_argnames": donate_argnames,
            **others,
        }
        _let_jax_check(function, jax_parameters)
        overrides = Overrides(static, dynamic)
        given = {
            **jax_parameters,
            "static": overrides.static or None,
            "dynamic": overrides.dynamic or None,
            "strict": strict,
        }
        # What says that nothing was said is one object, and would be another one in a pickle.
        self.given = {name: value for name, value in given.items() if value is not UNSPECIFIED}
        self.overrides = overrides if overrides else None
        self.strict = strict
        self.parameters = parameters_of(function)
        self.in_shardings, self.out_shardings = in_shardings, out_shardings
        self.static = self._resolve(static_argnums, static_argnames, "static")
        self.donate = self._resolve(donate_argnums, donate_argnames, "donate")
        self._told = set[int | str]()
        self.others = others
        self.key: Hashable = (
            self.static,
            self.donate,
            _frozen(in_shardings),
            _frozen(out_shardings),
            tuple(sorted((k, _frozen(v)) for k, v in others.items())),
            overrides.key,
            strict,
        )

    def _resolve(
        self, numbers: int | Sequence[int] | None, names: str | Iterable[str] | None, what: str
    ) -> frozenset[int | str]:
        """Numbers and names of arguments. As in JAX, each says the other where only one of both is given."""
        found: set[int | str] = set()
        takes_more = not self.parameters or any(
            p.kind is inspect.Parameter.VAR_POSITIONAL for p in self.parameters
        )
        positional = [p.name for p in self.parameters if p.kind in POSITIONAL]
        for number in (numbers,) if isinstance(numbers, int) else (numbers or ()):
            if not isinstance(number, int):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"{what}_argnums must be ints, got {number!r}")
            if number < 0 and not takes_more:
                number += len(positional)
            found.add(number)
            if names is None and 0 <= number < len(positional):
                found.add(positional[number])
        for name in (names,) if isinstance(names, str) else (names or ()):
            if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"{what}_argnames must be strings, got {name!r}")
            has_keywords = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in self.parameters)
            if self.parameters and not has_keywords and name not in [p.name for p in self.parameters]:
                raise ValueError(
                    f"jit got {what}_argnames={name!r}, but the function has no parameter of that name; its "
                    f"parameters are {', '.join(p.name for p in self.parameters)}."
                )
            found.add(name)
            if numbers is None and name in positional:
                found.add(positional.index(name))
        return frozenset(found)

    def in_sharding(self, argument: Argument) -> Any:
        """What ``in_shardings`` says of an argument; as in JAX, static ones are not counted."""
        given = self.in_shardings
        if not isinstance(given, (tuple, list)):
            return given
        names = [p.name for p in self.parameters if p.kind in POSITIONAL]
        at = argument.name if isinstance(argument.name, int) else None
        if at is None and argument.name in names:
            at = names.index(argument.name)
        if at is None:
            return None  # one that only the call names
        at -= sum(isinstance(other, int) and other < at for other in self.static)
        if at >= len(cast(Sequence[Any], given)):
            raise ValueError(
                f"in_shardings has {len(cast(Sequence[Any], given))} entries, but the argument "
                f"{argument.path} is the {at + 1}th that is not static."
            )
        return given[at]

    def not_donated(self, arguments: Sequence[Argument]) -> Iterator[str]:
        """A message for each argument that was to be donated and is read as state, the first time."""
        for argument in arguments:
            if argument.kind == "state" and argument.name in self.donate and argument.name not in self._told:
                self._told.add(argument.name)
                yield (
                    f"was told to donate {argument.path}, which is a Python object: the arrays in it are "
                    "state, and state is not donated.\nPass the array itself as an argument, donate that, "
                    "and assign the result outside: self.cache = push(self.cache, x)."
                )

    def for_jax(self, arguments: Sequence[Argument], record: Record) -> dict[str, Any]:
        """The parameters for ``jax.jit`` of the pure function ``(slots, *traced) -> tuple``."""
        traced = [a for a in arguments if a.kind == "traced"]
        result: dict[str, Any] = dict(self.others)
        donated = [i + 1 for i, a in enumerate(traced) if a.name in self.donate]
        if donated:
            result["donate_argnums"] = tuple(donated)
        if self.in_shardings is not UNSPECIFIED:
            result["in_shardings"] = (None, *(self.in_sharding(a) for a in traced))
        if self.out_shardings is not UNSPECIFIED:
            result["out_shardings"] = record.spread_over_outputs(self.out_shardings)
        return result


def _let_jax_check(function: Callable[..., Any], parameters: dict[str, Any]) -> None:
    """Raise JAX's own errors about the parameters, and give its warnings at the user's line."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        _compat.jax_jit(function, **parameters)
    where = user_line()
    for warning in told:
        if where is not None:
            warnings.warn_explicit(warning.message, warning.category, where.file, where.line)


def _frozen(value: Any) -> Hashable:
    """A hashable form of an option, by identity if it has none of its own."""
    if isinstance(value, dict):
        return tuple(sorted((str(k), _frozen(v)) for k, v in cast(dict[Any, Any], value).items()))
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, cast(Sequence[Any], value)))
    try:
        hash(value)
    except TypeError:
        return _ByIdentity(value)
    return value


class _ByIdentity:
    """A key for something that has no hash; it keeps the thing, so that no other gets its id."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)
