"""How NumPy arrays lie in memory, and which of the captured ones share it.

Traced code holds a copy or a stand-in of each captured NumPy array. What is a view of one (a slice, a
transpose) has to be described by where it lies, so that each call can make the same view of the real array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from freshjit.errors import CapturedNumpyWriteError
from freshjit.state.path import Path

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = [
    "Captured",
    "CapturedArray",
    "Layout",
    "captured_by_owner",
    "guard_layout",
    "owner_of",
    "refuse_overlap",
    "same_layout",
]


class CapturedArray:
    """A captured NumPy array, whatever traced code sees of it."""

    original: np.ndarray[Any, Any]
    path: Path

    @property
    def used(self) -> bool:
        """Whether anybody has asked for the contents, or changed them."""
        raise NotImplementedError

    def concrete(self) -> Any:
        """The array in the hands of traced code, if there is one."""
        raise NotImplementedError


def guard_layout(capture: Capture, value: np.ndarray[Any, Any], path: Path) -> None:
    """NumPy code can tell in which order the elements lie (``ravel(order="K")``, ``flags``)."""
    if value.ndim > 1 and type(value) is np.ndarray:
        capture.guard(path.attr("strides"), "value", value.strides)


def same_layout(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy whose elements lie as those of the original do: a view of the one tells of one of the other."""
    copy = value.copy(order="K")
    if copy.strides == value.strides:
        return copy
    low, high = np.lib.array_utils.byte_bounds(value) if value.size else (0, 0)
    if value.dtype.hasobject or not value.size:
        return copy
    buffer = np.zeros(high - low, np.uint8)
    spread = np.ndarray(value.shape, value.dtype, buffer, _address(value) - low, value.strides)
    spread[...] = value
    return spread


@dataclass(frozen=True, slots=True)
class Layout:
    """How an array lies in the memory of another one."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    writeable: bool

    @staticmethod
    def of(array: np.ndarray[Any, Any], base: np.ndarray[Any, Any]) -> Layout:
        offset = _address(array) - _address(base)
        return Layout(offset, array.shape, array.strides, array.dtype, array.flags.writeable)

    def on(self, base: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The array that lies like this in the memory of ``base``."""
        array = np.asarray(_Window(base, self))
        return array if array.dtype == self.dtype else array.view(self.dtype)


class _Window:
    """Tells NumPy of memory, and keeps it alive."""

    def __init__(self, base: np.ndarray[Any, Any], layout: Layout) -> None:
        self._base = base
        readonly = not (layout.writeable and base.flags.writeable)
        self.__array_interface__ = {
            "data": (_address(base) + layout.offset, readonly),
            "shape": layout.shape,
            "strides": layout.strides,
            "typestr": layout.dtype.str,
            "version": 3,
        }


def _address(array: np.ndarray[Any, Any]) -> int:
    return array.__array_interface__["data"][0]


def owner_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array whose memory this one is a view of, if it is one."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class Captured(NamedTuple):
    """A captured NumPy array, and the one that traced code has been given in its place."""

    path: Path
    original: np.ndarray[Any, Any]
    array: np.ndarray[Any, Any]


def captured_by_owner(capture: Capture, owner: np.ndarray[Any, Any]) -> Captured | None:
    """The captured array whose stand-in lies in this memory."""
    for thing in capture.mutables:
        if isinstance(thing, CapturedArray):
            array = thing.concrete()
            if isinstance(array, np.ndarray) and owner_of(array) is owner:
                return Captured(thing.path, thing.original, array)
    return None


def refuse_overlap(capture: Capture, written: CapturedArray) -> None:
    """Each captured array is a copy of its own: a write into one would not show in one of the same memory."""
    others = [m for m in capture.mutables if isinstance(m, CapturedArray) and m.used]
    places = [(other.path, other.original) for other in others if other is not written]
    for path, original in (*places, *capture.argument_leaves.values()):
        if isinstance(original, np.ndarray) and np.shares_memory(written.original, original):
            raise CapturedNumpyWriteError(
                f"the NumPy array {written.path} is written and shares memory with {path}, which is "
                "read in the same call: the write would not be seen there.\n"
                "Use one of the two inside, and slice it there."
            )
