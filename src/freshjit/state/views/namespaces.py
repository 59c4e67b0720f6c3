"""Views of globals: the namespace of a module as clones of its functions see it, and views of the module."""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from freshjit.state.bytecode import unasked_names
from freshjit.state.guards import user_line
from freshjit.state.hooks import GAP, differences
from freshjit.state.path import Path
from freshjit.state.record import Write
from freshjit.state.views.replacements import class_read_now, may_have_stand_in

if TYPE_CHECKING:
    from freshjit.state.capture import Capture


class Namespace(dict[str, Any]):
    """The globals of one module as its cloned functions see them.

    CPython asks ``__getitem__`` for every global name when a function's globals are not exactly a
    dict; names that are assigned (``global x``) land in the dict itself, which is how they are found.
    """

    def __init__(self, capture: Capture, real: dict[str, Any], path: Path) -> None:
        super().__init__()
        self.capture, self.real, self.path = capture, real, path
        self.cache: dict[str, Any] = {}
        self.preloaded: dict[str, Any] = {"__builtins__": capture.builtins}
        dict.__setitem__(self, "__builtins__", capture.builtins)
        for name in ("__name__", "__package__", "__spec__", "__file__", "__loader__"):
            if name in real:
                self.preloaded[name] = real[name]
                dict.__setitem__(self, name, real[name])
        self.deleted: set[str] = set()
        self.closed = False
        self.prefix = str(real.get("__name__", "")) if not path.label.startswith("globals of") else ""
        capture.mutable(self)

    def preload(self, code: types.CodeType) -> None:
        """Put names in place that CPython looks up without asking: in class bodies, ``eval``, and ``del``."""
        for name in unasked_names(code):
            if name in self.preloaded or name in self.deleted:
                continue
            if name not in self.real:
                self.capture.guard(self.path, "missing", name)
                continue
            if dict.__contains__(self, name):
                self.preloaded[name] = GAP  # assigned already: the real one is not looked at
            else:
                self.preloaded[name] = self._view(name)
                dict.__setitem__(self, name, self.preloaded[name])

    def __getitem__(self, name: str) -> Any:
        if self.closed:  # a rule of custom_jvp, say, which JAX runs when it differentiates later
            return self.real[name]
        if dict.__contains__(self, name):
            return dict.__getitem__(self, name)
        self.capture.check_thread(f"code that reads {name}")
        if name not in self.real:
            self.capture.guard(self.path, "missing", name)
        if name not in self.real or self._is_deleted(name):
            raise KeyError(name)
        return self._view(name)

    def _view(self, name: str) -> Any:
        """What traced code sees of the real global of that name."""
        if name not in self.cache:
            place = self.path.to("item", name, f"{self.prefix}.{name}" if self.prefix else name)
            growing = self.capture.only_appended_to(self.real[name], place, name)
            if growing is not GAP:
                return growing
            self.cache[name] = self.view_entry(self.real[name], place)
        found = self.cache[name]
        return class_read_now(found) if may_have_stand_in(found) else found

    def view_entry(self, value: Any, place: Path) -> Any:
        """What traced code sees of a value found there."""
        return self.capture.view(value, place)

    def _is_deleted(self, name: str) -> bool:
        """Whether traced code has deleted a real global: ``del`` of one in place does not ask."""
        return not dict.__contains__(self, name) and (name in self.deleted or name in self.preloaded)

    def _all_deleted(self) -> set[str]:
        return {name for name in (*self.deleted, *self.preloaded) if self._is_deleted(name)}

    def __contains__(self, name: object) -> bool:
        if dict.__contains__(self, name):
            return True
        if not isinstance(name, str) or self._is_deleted(name):
            return False
        self.capture.guard(self.path, "contains" if name in self.real else "missing", name)
        return name in self.real

    def get(self, name: str, default: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        try:
            return self[name]
        except KeyError:
            return default

    def __iter__(self) -> Iterator[str]:
        self.capture.guard(self.path, "keys", tuple(self.real))
        names = [n for n in self.real if not self._is_deleted(n)]
        return iter(names + [n for n in dict.keys(self) if n not in self.real])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def keys(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return list(iter(self))

    def items(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return [(n, self[n]) for n in self]

    def values(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return [self[n] for n in self]

    def assign(self, name: str, value: Any) -> None:
        dict.__setitem__(self, name, value)
        self.deleted.discard(name)

    def assigned(self, name: str) -> bool:
        """Whether traced code has assigned or deleted the name."""
        return dict.__contains__(self, name) or self._is_deleted(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self.assign(name, value)

    def __delitem__(self, name: str) -> None:
        self.remove(name)

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self.assign(name, default)
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        if name not in self and default:
            return default[0]
        value = self[name]
        self.remove(name)
        return value

    def popitem(self) -> tuple[str, Any]:
        names = list(self)
        if not names:
            raise KeyError("popitem(): dictionary is empty")
        return names[-1], self.pop(names[-1])

    def update(self, *others: Any, **named: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        for name, value in dict(*others, **named).items():
            self.assign(name, value)

    def __ior__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.update(other)
        return self

    def __or__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.copy() | other

    def copy(self) -> dict[str, Any]:
        return dict(self.items())

    def clear(self) -> None:
        for name in list(self):
            self.remove(name)

    def remove(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        dict.pop(self, name, None)
        self.deleted.add(name)

    def close(self) -> None:
        """The capture is over: forget its views, and be the real globals for whoever still calls."""
        self.closed = True
        dict.clear(self)
        dict.__setitem__(self, "__builtins__", builtins)
        self.cache.clear()
        self.preloaded.clear()

    def _assigned(self) -> dict[str, Any]:
        return {
            n: v
            for n, v in dict.items(self)
            if self.preloaded.get(n, GAP) is not v and self.cache.get(n, GAP) is not v
        }

    # -- Mutable --------------------------------------------------------------------------------

    def writes(self, capture: Capture) -> Iterator[Write]:
        for name, value in self._assigned().items():
            yield Write(self.path, "setglobal", name, value, user_line())
        for name in self._all_deleted():
            if name in self.real:
                yield Write(self.path, "delglobal", name, None)

    def start(self) -> Any:
        return dict(self.preloaded), set[str]()

    def snapshot(self) -> Any:
        return dict(dict.items(self)), self._all_deleted()

    def restore(self, snapshot: Any) -> None:
        contents, deleted = snapshot
        dict.clear(self)
        dict.update(self, self._with_preloaded(contents, deleted))
        self.deleted = set(deleted)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        contents, deleted = snapshot
        found = differences(dict(dict.items(self)), self._with_preloaded(contents, deleted))
        found.update(dict.fromkeys(self._all_deleted() - deleted, GAP))
        return found

    def _with_preloaded(self, contents: dict[str, Any], deleted: set[str]) -> dict[str, Any]:
        """Contents as they would have been, had all been put in place that is now."""
        names = [name for name in self.preloaded if name not in deleted and name not in contents]
        for name in names:
            if self.preloaded[name] is GAP:
                self.preloaded[name] = self._view(name)
        return {**{name: self.preloaded[name] for name in names}, **contents}

    def apply(self, changes: dict[Any, Any]) -> None:
        for name, value in changes.items():
            if value is GAP:
                dict.pop(self, name, None)
                self.deleted.add(name)
            else:
                self.assign(name, value)

    def content(self, key: Any) -> Any:
        return self[key]

    def place(self, key: Any) -> Path:
        return self.path.to("item", key, f"{self.prefix}.{key}" if self.prefix else key)


def namespace_of(capture: Capture, module: types.ModuleType, path: Path | None = None) -> Namespace:
    """The watched globals of a module, found at ``path`` or where it is imported from."""
    path = imported(module) if path is None else path
    place = path.to("dict")
    known = capture.namespaces.get(id(module.__dict__))
    if known is None:
        known = Namespace(capture, module.__dict__, place)
        known.prefix = str(path)
        capture.namespaces[id(module.__dict__)] = known
    elif known.path is not place:
        capture.guard(place, "alias", known.path)
    return known


sys_modules = Path.constant(sys.modules, "sys.modules")


def imported(module: types.ModuleType) -> Path:
    """Where an import statement finds a module."""
    name = module.__name__
    if sys.modules.get(name) is module:
        return sys_modules.to("item", name, name)
    return Path.constant(module, name)
