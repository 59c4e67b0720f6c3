"""Path: how to reach one piece of state from a root, as Python code and as a person would write it.

A path knows nothing of values. It prints itself (``self.layers[1].w``) and gives the Python
expression that reads it, which the probe generator and the commit use. Paths of one capture are
interned: the same steps give the same object.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Any, Literal, cast

from freshjit.state.held import Kept, held, strongly, weakly

__all__ = ["Path", "Step", "alike", "is_name", "is_within", "shown"]

Step = Literal[
    "root",  # a parameter of the generated call: the function, its args, its kwargs
    "attr",  # p.x, wherever Python finds x
    "dict",  # p.__dict__
    "dictitem",  # an entry of p.__dict__, read without running the class's own code
    "type",  # type(p)
    "classattr",  # the raw entry of a class (or of its bases), no descriptor applied
    "item",  # p[key]
    "rawitem",  # p[key] for a subclass of dict or list, without its own __getitem__
    "elements",  # what is in a container, or the keys of a dict, as a tuple; the key is the base class
    "values",  # what a dict holds, as a tuple: where objects are keys, its items go by their position
    "mapping",  # what a mapping proxy shows
    "cell",  # the n-th cell of a function
    "contents",  # the value inside a cell
    "globals",  # the global namespace of a function
    "leaves",  # the leaves of a pytree node of a library's
    "form",  # its structure
    "call",  # p(*key): reading goes through a call (a weak reference, a memoised function)
    "callwith",  # the same with keyword arguments: the key is (args, named)
    "constant",  # an object that is known by itself, such as a class met without a path to it
]


@dataclass(frozen=True, eq=False, slots=True)
class Path:
    """One location, relative to a root of the call.

    Attributes:
        parent: the path this one continues, None for a root.
        step: what kind of step leads here from the parent.
        key: which one: a name, an index, a dictionary key, the arguments of a call; objects in it, which
            a path must not keep alive, are held weakly (``held.weakly``).
        label: how this location is written for a person.
    """

    parent: Path | None
    step: Step
    key: Any
    label: str
    _children: dict[tuple[Step, Any], Path] = field(
        default_factory=dict[tuple[Step, Any], "Path"], repr=False
    )

    def __str__(self) -> str:
        return self.label

    @property
    def trail(self) -> tuple[Any, ...]:
        """The steps from the root: equal for paths of different captures that lead to the same place."""
        steps: list[Any] = []
        place: Path | None = self
        while place is not None:
            key = id(place.key()) if place.step == "constant" else _hashable(place.key)
            steps.append((place.step, key))
            place = place.parent
        return tuple(reversed(steps))

    @property
    def index(self) -> Any:
        """The key of an element in its container; ``GONE`` if it was an object that is no more."""
        return strongly(self.key[1] if self.step == "rawitem" else self.key)

    @staticmethod
    def root(key: str, label: str) -> Path:
        """A root: ``key`` is the expression that the generated code uses for it."""
        return Path(None, "root", key, label)

    def to(self, step: Step, key: Any = None, label: str | None = None) -> Path:
        """The location one step further."""
        slot = (step, _hashable(weakly(key)))
        known = self._children.get(slot)
        if known is None:
            known = Path(self, step, weakly(key), self._label(step, key) if label is None else label)
            self._children[slot] = known
        return known

    def on(self, bases: Mapping[str, Path]) -> Path:
        """The same steps from another root: ``bases`` gives one for each root's key."""
        steps: list[Path] = []
        root = self
        while root.parent is not None:
            steps.append(root)
            root = root.parent
        place = root if root.step == "constant" else bases[root.key]
        for step in reversed(steps):
            place = place.to(step.step, step.key, step.label)
        return place

    def by_key(self, keyed: Mapping[Path, Path]) -> Path:
        """The same place by the keys of dicts where it goes by positions, for what outlives their order.

        Parameters:
            keyed: for each item found by its position, the same by its key.
        """
        steps: list[Path] = []
        place = self
        while place.parent is not None:
            place = keyed.get(place, place)
            steps.append(place)
            place = cast(Path, place.parent)
        for step in reversed(steps):
            place = place.to(step.step, step.key, step.label)
        return place

    def attr(self, name: str) -> Path:
        return self.to("attr", name)

    @staticmethod
    def constant(value: Any, label: str, keep: bool = False) -> Path:
        """A root that is an object known by itself; ``keep`` it alive if the run has made it."""
        return Path(None, "constant", Kept(value) if keep else held(value), label)

    def item(self, key: Any) -> Path:
        return self.to("item", key)

    def _label(self, step: Step, key: Any) -> str:
        base = self.label
        match step:
            case "attr" | "dictitem" | "classattr":
                return f"{base}.{key}" if is_name(key) else f"getattr({base}, {key!r})"
            case "type":
                return f"type({base})"
            case "item":
                return f"{base}[{shown(key)}]"
            case "rawitem":
                return f"{base}[{shown(key[1])}]"
            case "call":
                return f"{base}({', '.join(map(shown, key))})"
            case "dict":
                return f"vars({base})"
            case "callwith":
                named = (f"{name}={shown(value)}" for name, value in key[1])
                return f"{base}({', '.join([*map(shown, key[0]), *named])})"
            case "globals":
                return f"globals of {base}"
            case "leaves":
                return f"leaves of {base}"
            case "form":
                return f"structure of {base}"
            case _:
                return base

    def code(self, parent: str, constant: Any) -> str:
        """The expression that reads this location, given the parent's expression.

        Parameters:
            parent: expression for the parent path.
            constant: function that turns an object into an expression usable in the code.
        """
        key = strongly(self.key)
        match self.step:
            case "root":
                return key
            case "attr":
                if is_name(key):
                    return f"{parent}.{key}"
                return f"getattr({parent}, {key!r})"
            case "dict":
                return f"{parent}.__dict__"
            case "dictitem":
                return f"{parent}.__dict__[{key!r}]"
            case "type":
                return f"type({parent})"
            case "classattr":
                return f"class_entry({parent}, {key!r})"
            case "item":
                return f"{parent}[{constant(key)}]"
            case "rawitem":
                base, index = key
                return f"{base}.__getitem__({parent}, {constant(index)})"
            case "elements":
                return f"(*{key}.__iter__({parent}),)"
            case "values":
                return f"(*{key}.values({parent}),)"
            case "mapping":
                return f"referents({parent})[0]"
            case "cell":
                return f"{parent}.__closure__[{key}]"
            case "contents":
                return f"{parent}.cell_contents"
            case "globals":
                return f"{parent}.__globals__"
            case "leaves":
                return f"tree_leaves({parent})"
            case "form":
                return f"tree_structure({parent})"
            case "call":
                return f"{parent}({', '.join(map(constant, key))})"
            case "callwith":
                named = (f"{name}={constant(value)}" for name, value in key[1])
                return f"{parent}({', '.join([*map(constant, key[0]), *named])})"
            case "constant":
                return constant(key())


def shown(key: Any) -> str:
    """How a key is written. It may be an object whose ``__repr__`` fails, or an int too long for Python."""
    try:
        return repr(key)
    except Exception:
        return f"<{type(key).__name__}>"


def is_name(key: str) -> bool:
    """Whether ``thing.key`` in source code means this attribute: Python brings names into a normal form."""
    return key.isidentifier() and not iskeyword(key) and unicodedata.normalize("NFKC", key) == key


def is_within(label: str, place: str) -> bool:
    """Whether a printed location is at the printed place, or below it."""
    return label == place or label.startswith((place + ".", place + "["))


def alike(trail: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same for all elements of one container, and for what is at the same place in each of them."""
    return tuple((step, ...) if step in ("item", "rawitem") else (step, key) for step, key in trail)


def _hashable(key: Any) -> Any:
    """A dictionary key that keeps 1, 1.0 and True apart; unhashable keys go by identity."""
    if isinstance(key, tuple):
        return tuple(map(_hashable, key))
    try:
        hash(key)
    except TypeError:
        return (id(key),)
    return (type(key), key)
