"""What an error carries out of the run: the caller is to find its own things in it, and not their views.

What was computed under the trace has no value that could be put in its place: it stays a tracer, as in JAX.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from freshjit.state.hooks import can_hook, slots_of
from freshjit.state.values import is_plain
from freshjit.state.views.arrays import NumpyView
from freshjit.state.views.numbers import plain_number
from freshjit.state.views.objects import instance_dict
from freshjit.state.views.replacements import real_library_value

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["put_real_things"]


def put_real_things(capture: Capture, error: BaseException) -> None:
    """Put the real things in place of views in an error, and in what the run has made that it holds."""
    todo: list[Any] = [error]
    seen: dict[int, Any] = {}
    with capture.paused():
        while todo:
            thing = todo.pop()
            if id(thing) not in seen and _may_be_of_the_run(capture, thing):
                seen[id(thing)] = thing
                todo += _put(capture, thing)


def _may_be_of_the_run(capture: Capture, thing: Any) -> bool:
    if capture.original_of(thing) is not None or id(thing) in capture.entries:
        return False
    return type(thing) in (list, dict) or isinstance(thing, BaseException) or can_hook(type(thing))


def _put(capture: Capture, thing: Any) -> Iterator[Any]:
    """Exchange the parts of one thing; gives those that it holds then."""
    if isinstance(thing, list):
        for i, part in enumerate(list.__iter__(thing)):
            yield from _exchanged(capture, part, lambda real, i=i: list.__setitem__(thing, i, real))
    elif isinstance(thing, dict):
        for key, part in list(dict.items(thing)):
            yield from _exchanged(capture, part, lambda real, key=key: dict.__setitem__(thing, key, real))
    elif isinstance(thing, BaseException):
        args = BaseException.args.__get__(thing)  # pyright: ignore
        yield from _exchanged(capture, args, lambda real: object.__setattr__(thing, "args", real))
        yield from (thing.__cause__, thing.__context__)
    for name, part in list((instance_dict(thing) or {}).items()):
        yield from _exchanged(capture, part, lambda real, name=name: thing.__dict__.update({name: real}))
    for name, member in slots_of(type(thing)).items():
        try:
            part = member.__get__(thing)
        except AttributeError:
            continue
        yield from _exchanged(capture, part, lambda real, name=name: object.__setattr__(thing, name, real))


def _exchanged(capture: Capture, part: Any, put: Any) -> Iterator[Any]:
    real = _real(capture, part)
    if real is not part:
        put(real)
    yield from tuple.__iter__(real) if isinstance(real, tuple) else (real,)


def _real(capture: Capture, value: Any) -> Any:
    entry = capture.original_of(value)
    if entry is not None:
        return entry.original
    if is_plain(value):
        return value
    if isinstance(value, tuple):
        parts = [_real(capture, part) for part in tuple.__iter__(value)]
        same = all(a is b for a, b in zip(parts, tuple.__iter__(value), strict=True))
        return value if same else tuple.__new__(type(value), parts)
    given = capture.given.get(id(value))
    if given is not None and given[0] is value:
        return given[1]
    if type(value) is NumpyView:
        return value.numbers().copy()
    library = real_library_value(capture, value)
    return plain_number(value) if library is None else library
