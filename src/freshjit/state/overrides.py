"""Overrides: numbers in state that the user wants to be seen in one way, whatever they have done so far.

Places are named as messages print them: ``self.lr``, ``self.config``, ``cfg['lr']``, the name of a closure
variable, a global or a parameter with a default. A place covers everything under it; of two that cover the
same number the longer one counts.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from freshjit.errors import UnsupportedStateError
from freshjit.state.guards import at, user_line
from freshjit.state.naming import normal, parsed
from freshjit.state.path import Path
from freshjit.state.values import NUMBERS

__all__ = ["Overrides"]


class Overrides:
    """The places given to ``jit`` as ``static`` and ``dynamic``, checked.

    Attributes:
        static: numbers there are always compiled for their value.
        dynamic: numbers there change, from the first compilation on.
    """

    def __init__(
        self, static: str | Iterable[str] | None = None, dynamic: str | Iterable[str] | None = None
    ) -> None:
        self._told: set[str] = set()
        self._read: dict[str, None] = {}  # labels, in the order of reading
        self.static = _places(static, "static")
        self.dynamic = _places(dynamic, "dynamic")
        for place in sorted(self.static & self.dynamic):
            raise ValueError(f"jit got {place!r} both as static and as dynamic: it can only be one of them.")

    def __bool__(self) -> bool:
        return bool(self.static or self.dynamic)

    @property
    def key(self) -> tuple[frozenset[str], frozenset[str]]:
        """What tells the programs of two jitted functions apart."""
        return self.static, self.dynamic

    def kind(self, path: Path) -> str | None:
        """``"static"`` or ``"dynamic"``, None for a number about which nothing was said."""
        place: Path | None = path
        while place is not None:
            label = normal(str(place))
            if label in self.static:
                return "static"
            if label in self.dynamic:
                return "dynamic"
            place = place.parent
        return None

    def check(self, value: Any, path: Path) -> None:
        """Note that a place was read; refuse one named as dynamic that can hold no number (a string…)."""
        place = normal(str(path))
        self._read[place] = None
        if type(value) in NUMBERS or place not in self.dynamic:
            return
        if isinstance(value, (str, bytes, int, float, complex, np.generic, type(None), type(Ellipsis))):
            where = user_line()
            raise UnsupportedStateError(
                f"{path} was given to jit as dynamic, but holds {_described(value)}"
                f"{at(where, 'read at')}.\n"
                "Only numbers (int, float, complex and NumPy's) can change without a compilation, and what "
                "contains them. Leave it out, or make it an array (jnp.asarray): arrays are inputs anyway."
            )

    def unread(self) -> Iterator[str]:
        """A message for each place that has not been read so far, the first time that this is called."""
        for what, places in (("static", self.static), ("dynamic", self.dynamic)):
            for place in sorted(places - self._read.keys() - self._told):
                self._told.add(place)
                near = difflib.get_close_matches(place, self._read, n=5, cutoff=0.0)
                yield (
                    f"was given {what}={place!r}, but has read nothing of that name. What it has read: "
                    f"{', '.join(near) or 'nothing'}…\nA place is written as messages write it, from the "
                    "names that the function itself uses."
                )


def _described(value: Any) -> str:
    return "None" if value is None else f"{value!r}, of type {type(value).__name__}"


def _places(given: str | Iterable[str] | None, what: str) -> frozenset[str]:
    if given is None:
        return frozenset()
    places: Iterable[Any] = (given,) if isinstance(given, str) else given
    if not isinstance(places, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"jit: {what} must be a string such as 'self.lr', or several; got {given!r}")
    found: set[str] = set()
    for place in places:
        if not isinstance(place, str):
            raise TypeError(f"jit: {what} must hold strings such as 'self.lr'; got {place!r}")
        found.add(_checked(place, what))
    return frozenset(found)


def _checked(place: str, what: str) -> str:
    found = parsed(place)
    if found is None:
        raise ValueError(
            f"jit got {what}={place!r}, which is no place: write it as messages do, with names, attributes "
            "and constant keys, such as 'self.config.lr', \"cfg['lr']\", 'layers[0].scale' or 'rate'."
        )
    return found.text
