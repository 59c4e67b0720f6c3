"""Store: the programs of one code object, and how the right one is found for a call.

Most functions have one program, or a few that differ in a flag: they are tried in order of their last
use, each by its own probe. Once JAX has asked to trace a program again (another shape, another
configuration), programs are looked up by the signature of the traced arguments first.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from freshjit.errors import FreshjitWarning
from freshjit.programs.probe import Miss
from freshjit.programs.program import Disabled, Program, Retrace

__all__ = ["Store", "store_for"]

MAX_PROGRAMS = 256
"""How many programs a store keeps; beyond that the one that was not used for longest goes."""

MAX_STORES = 4096
"""How many stores are kept for functions that may be created again."""


class Store:
    """The programs of one function.

    Parameters:
        name: the function's name, for messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = threading.RLock()
        self.programs: tuple[Program, ...] = ()
        self.latest: Program | None = None
        """The program that served last, unless programs must be looked up by signature."""
        self._by_signature: dict[Any, tuple[Program, ...]] | None = None
        self._warned = False

    def find(
        self,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        signature: Callable[[], Hashable],
    ) -> Any:
        """The result of the first program whose guards hold, or a Miss.

        Parameters:
            signature: gives the signature of the call's traced arguments; asked only if needed.
        """
        candidates = self.programs
        if self._by_signature is not None:
            candidates = self._by_signature.get(signature(), ())
        for program in candidates:
            try:
                result = program.run(function, args, kwargs)
            except Disabled:
                return _MISS
            except Retrace:
                with self.lock:
                    program.check_avals(True)
                    if self._by_signature is None:
                        self._index()
                        return self.find(function, args, kwargs, signature)
                continue
            if type(result) is Miss:
                continue
            if program is not candidates[0]:
                self._to_front(program)
            return result
        return _MISS

    def add(self, program: Program) -> None:
        with self.lock:
            programs = (program, *self.programs)
            if len(programs) > MAX_PROGRAMS:
                programs = programs[:MAX_PROGRAMS]
                if not self._warned:
                    self._warned = True
                    warnings.warn(
                        f"{self.name} has been compiled for more than {MAX_PROGRAMS} different states; the "
                        "programs used least recently are dropped. State that changes at every call should "
                        "be an array (jnp.asarray) rather than a Python value.",
                        FreshjitWarning,
                        stacklevel=4,
                    )
            self.programs = programs
            if self._by_signature is not None:
                self._index()
            else:
                self.latest = program

    def clear(self) -> None:
        with self.lock:
            self.programs = ()
            self.latest = self._by_signature = None

    def _to_front(self, program: Program) -> None:
        with self.lock:
            if program not in self.programs:
                return
            self.programs = (program, *(p for p in self.programs if p is not program))
            if self._by_signature is None:
                self.latest = program
            else:
                group = self._by_signature.get(program.signature, ())
                self._by_signature[program.signature] = (program, *(p for p in group if p is not program))

    def _index(self) -> None:
        groups: dict[Any, tuple[Program, ...]] = {}
        for program in self.programs:
            groups[program.signature] = (*groups.get(program.signature, ()), program)
        self._by_signature = groups
        self.latest = None


_MISS = Miss(None)

_lock = threading.RLock()
_stores: OrderedDict[Any, tuple[list[weakref.ref[Any]], Store]] = OrderedDict()


def store_for(codes: tuple[Any, ...], options: Hashable, name: str) -> Store:
    """The store of a function, the same for every function made from the same code with equal options.

    Parameters:
        codes: the code objects that identify the function (held weakly).
        options: whatever else tells two jitted functions apart.
        name: the function's name, for messages.
    """
    key = (tuple(map(id, codes)), options)
    with _lock:
        known = _stores.get(key)
        if known is not None:
            _stores.move_to_end(key)
            return known[1]
        store = Store(name)

        def forget(_: Any) -> None:
            _stores.pop(key, None)

        _stores[key] = ([weakref.ref(code, forget) for code in codes], store)
        if len(_stores) > MAX_STORES:
            _stores.popitem(last=False)
        return store
