"""The run of a capture: the function is called with views in place of things, and the books are closed.

``trace`` runs it under trace and gives the ``Record`` that a program is built from. ``directly`` runs it in
the trace that is current, on the arrays themselves, for what has no program (transforms outside ``jit``,
``functionalize``); ``written`` says what such a run has written so far.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import jax

from freshjit import _compat
from freshjit.errors import UnstableStateError, UnsupportedStateError
from freshjit.state import distinct, recipes
from freshjit.state.active import thread
from freshjit.state.arguments import Argument, arranged, signature_of
from freshjit.state.building import Builder
from freshjit.state.capture import Capture
from freshjit.state.held import all_classes
from freshjit.state.path import Path
from freshjit.state.record import KEYED, Record, Slot, Write
from freshjit.state.views import (
    arrays,
    ecosystem,
    library_calls,
    numbers,
    objects,
    outside,
    pytrees,
    raised,
    threads,
    unseen,
)

__all__ = ["directly", "trace", "view_arguments", "written"]

T = TypeVar("T")

_WATCHES = (outside.watched_paths, threads.watched_threads, unseen.watched_interpreter)


@dataclass(eq=False, slots=True)
class _Result:
    """What is known when the function has returned, but for its outputs: it outlives the trace."""

    output: recipes.Recipe
    writes: list[Write]
    distinct: distinct.Distinct
    tree: Any = None
    leaves: Sequence[int | None] = ()


def trace(
    capture: Capture, args: Sequence[Any], kwargs: dict[str, Any], arguments: Sequence[Argument]
) -> Record:
    """Run the function once under trace and say what it read, wrote and returned.

    Parameters:
        args, kwargs: the arguments of the call.
        arguments: how each of them takes part, positional ones first.
    """
    results: list[_Result] = []
    outer = thread.capture

    def traced(*values: Any) -> list[Any]:
        try:
            _open(capture)
            thread.capture = capture
            call_args, call_kwargs = _arguments(capture, values, args, kwargs, arguments)
            function = capture.view(capture.function, capture.root)
            outputs, result = _result(capture, function(*call_args, **call_kwargs))
            results.append(result)
            return outputs
        except BaseException as error:
            if capture.recorder is not None:
                capture.recorder.abandon()
            raised.put_real_things(capture, error)
            raise
        finally:
            # Before this function returns: JAX's leak checker looks for tracers right afterwards.
            thread.capture = outer
            try:
                _close(capture)
            except BaseException:  # Ctrl-C in the middle of it: once more, however far it got
                _close(capture)
                raise

    _name_after(traced, capture.function, arguments)
    inputs = [a.of(args, kwargs) for a in arguments if a.kind == "traced"]
    try:
        jaxpr = jax.make_jaxpr(traced)(*inputs)
        _check_undisturbed(capture)
        if capture.must_join:
            return trace(capture.joined(), args, kwargs, arguments)
        capture.finish()
        return _record(capture, jaxpr, results[-1])
    finally:
        capture.let_go()


def directly(capture: Capture, call: Callable[[Capture], T], bases: Mapping[str, Path] | None = None) -> T:
    """Run ``call`` with a capture watching, in the trace that is current, on the arrays themselves.

    What is written is held apart; ``call`` may ask ``written`` for it before it returns.

    Parameters:
        bases: inside another capture, where that one finds the roots of this one. It then guards what is
            read here.
    """
    outer = capture.outer = thread.capture
    capture.bases = bases or {}
    capture.recorder = _compat.Direct()
    capture.classes_before = all_classes()
    try:
        thread.capture = capture
        return call(capture)
    except BaseException as error:
        raised.put_real_things(capture, error)
        raise
    finally:
        thread.capture = outer
        try:
            _close(capture)
        except BaseException:
            _close(capture)
            raise
        capture.let_go()


def written(capture: Capture, result: Any = None) -> tuple[Record, list[Any]]:
    """What a direct run has written so far, as a record without guards, and the values in it.

    Parameters:
        result: what the record is to give as the result, made of the real things.
    """
    outputs, found = _result(capture, result)
    _check_undisturbed(capture)
    record = Record(
        jaxpr=None,
        out_avals=(),
        guards=[],
        slots=[],
        constants=[],
        writes=found.writes,
        output=found.output,
        n_outputs=len(outputs),
        distinct=distinct.Distinct(),
        result_tree=found.tree,
        result_outputs=found.leaves,
    )
    return record, outputs


def view_arguments(
    capture: Capture, arguments: Sequence[Argument], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a direct run: objects as views, JAX's own kinds as they are."""

    def seen(argument: Argument) -> Any:
        value = argument.of(args, kwargs)
        return capture.view(value, argument.path) if argument.kind == "state" else value

    return arranged(arguments, seen)


# -- its stations -----------------------------------------------------------------------------------


def _open(capture: Capture) -> None:
    capture.pathless.begin()
    capture.recorder = _compat.Recorder(
        capture.on_concrete,
        arrays.to_index,
        arrays.to_jax,
        numbers.plain_number,
        library_calls.call_library,
        capture.pathless.constant,
        capture.on_asked,
    )
    capture.recorder.start()  # known here before it changes anything
    capture.classes_before = all_classes()
    for counter, path in ecosystem.counters_of_traces():
        capture.remember(counter, counter, path)
    for watch in _WATCHES:
        watch.need(capture)


def _close(capture: Capture) -> None:
    """Let go of hooks and of everything that refers to tracers, whatever happened. Can be called again."""
    try:
        objects.roll_back(capture)
    except BaseException:  # Ctrl-C: once more, while the books still say what there was
        objects.roll_back(capture)
        raise
    finally:
        for watch in _WATCHES:
            watch.leave(capture)
        capture.close()


def _name_after(traced: Any, function: Any, arguments: Sequence[Argument]) -> None:
    """JAX names programs, and in its errors lines and arguments, by the function that it traces."""
    wrapped = inspect.unwrap(function)
    if hasattr(wrapped, "__name__"):
        traced.__name__ = wrapped.__name__
    if not hasattr(getattr(wrapped, "__func__", wrapped), "__code__") and callable(wrapped):
        wrapped = inspect.unwrap(wrapped.__call__)
    if hasattr(getattr(wrapped, "__func__", wrapped), "__code__"):
        traced.__wrapped__ = wrapped
        traced.__signature__ = signature_of(arguments)


def _arguments(
    capture: Capture,
    values: Sequence[Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    arguments: Sequence[Argument],
) -> tuple[list[Any], dict[str, Any]]:
    recorder = capture.recorder
    assert recorder is not None
    traced = iter(values)

    def seen(argument: Argument) -> Any:
        original = argument.of(args, kwargs)
        if argument.kind != "traced":
            return capture.view(original, argument.path)
        value = next(traced)
        for leaf in jax.tree_util.tree_leaves(value):
            recorder.take_over(leaf)
        return pytrees.adopt_argument(capture, value, original, argument.path)

    return arranged(arguments, seen)


def _result(capture: Capture, result: Any) -> tuple[list[Any], _Result]:
    """The function has returned: its outputs, and what it gives and has written as recipes."""
    if isinstance(result, (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)):
        name = getattr(capture.function, "__qualname__", repr(capture.function))
        raise UnsupportedStateError(
            f"{name} is a generator or coroutine function: its body would run after tracing has ended.\n"
            "Return the values in a list, or jit the function that the generator calls for each item."
        )
    capture.functions.finish(capture)
    capture.class_attributes.finish(capture)
    builder = Builder(capture)
    writes = [w for thing in list(capture.mutables) for w in thing.writes(capture)]
    for write in writes:
        if write.action not in ("delattr", "delitem", "delglobal", "delclass"):
            write.value = builder.build(write.value, write.label, write.where)
        if write.action in KEYED:
            write.key = builder.build(write.key, f"a key of {write.path}", write.where)
    output = builder.build(result, "the result", None)
    builder.finish()
    capture.finish_arguments()
    found = _Result(output, writes, distinct.find(capture, writes))
    if capture.flatten_result:
        leaves, found.tree = jax.tree_util.tree_flatten(result)
        found.leaves = [builder.output_index(leaf) for leaf in leaves]
    return builder.outputs, found


def _check_undisturbed(capture: Capture) -> None:
    if capture.strayed is not None:
        raise capture.strayed
    if capture.disturbed is not None:
        raise UnstableStateError(
            f"{capture.disturbed} was assigned while {capture.root} was traced, by another thread, or by "
            "code of a library or of C.\nAssign it in the function itself, by a statement; or see that no "
            "other thread does while the function is traced."
        )


def _record(capture: Capture, jaxpr: Any, result: _Result) -> Record:
    """Everything that the capture found, as plain data without the user's arrays."""
    slot_of, slots = capture.give_up_slots()
    constants = [slot_of.get(id(constant), constant) for constant in jaxpr.consts]
    used = {id(c) for c in constants if isinstance(c, Slot)}
    return Record(
        jaxpr=_compat.open_jaxpr(jaxpr),
        out_avals=jaxpr.out_avals,
        guards=capture.guards,
        slots=[s for s in slots if id(s) in used],
        constants=constants,
        writes=result.writes,
        output=result.output,
        n_outputs=len(jaxpr.out_avals),
        distinct=result.distinct,
        result_tree=result.tree,
        result_outputs=result.leaves,
        frozen=capture.frozen,
        computed=capture.computed,
        argument_dicts=capture.argument_dicts,
        late_rules=capture.late_rules,
    )
