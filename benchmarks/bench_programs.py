"""How many programs are compiled, and what it costs to have many of them."""

import gc
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle

import jax
import jax.numpy as jnp

import freshjit
from benchmarks._measure import compare
from benchmarks._report import Row, attempt, ratio_row
from freshjit.cli.compilations import compilations

TITLE = "Programs: how many, and with how many"

MANY_PROGRAMS_GOAL = 1.5


class Switch:
    """A flag that is flipped."""

    def __init__(self) -> None:
        self.flag = False

    def __call__(self, x: jax.Array) -> jax.Array:
        return x + 1 if self.flag else x - 1


class Mode:
    """As many programs as there are modes, of one and the same maths."""

    def __init__(self) -> None:
        self.mode = "0"

    def few(self, x: jax.Array) -> jax.Array:
        """Called in one mode only."""
        return x - 1 if self.mode == "off" else x + 1

    def many(self, x: jax.Array) -> jax.Array:
        """The same, called in many modes: programs belong to the code, and this is another."""
        return x - 1 if self.mode == "off" else x + 1


class Weight:
    """An instance among many."""

    def __init__(self, value: float) -> None:
        self.value = jnp.float32(value)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.value * x


def rows(quick: bool) -> Iterator[Row]:
    """All measurements, one by one."""
    times, programs = (20, 8) if quick else (1000, 64)
    yield attempt("flag", partial(_flag, times))
    yield attempt("factory", partial(_factory, times))
    yield attempt("instances", partial(_instances, 10 * times))
    for what, index in (("newest", programs - 1), ("oldest", 0)):
        yield attempt(f"{programs} programs, {what}", partial(_many, programs, what, index))
    yield attempt(f"{programs} programs, in turn", partial(_in_turn, programs))


def _flag(times: int) -> Row:
    what = f"a flag flipped {times} times, against jax.jit"
    return _compilations_row(
        what, partial(_flip, freshjit.jit, times), partial(_flip, jax.jit, times), goal=2
    )


def _flip(jit: Callable[..., Callable[..., jax.Array]], times: int) -> int:
    """How many of the calls were right."""
    switch, x = Switch(), jnp.zeros(())
    jitted, right = jit(switch.__call__), 0
    for _ in range(times):
        switch.flag = not switch.flag
        right += float(jitted(x)) == (1.0 if switch.flag else -1.0)
    return right


def _factory(times: int) -> Row:
    what = f"jit made {times} times by one factory, against jax.jit"
    return _compilations_row(
        what, partial(_make, freshjit.jit, times), partial(_make, jax.jit, times), goal=1
    )


def _make(jit: Callable[..., Callable[..., jax.Array]], times: int) -> int:
    """How many of the calls were right."""
    x = jnp.ones(())
    weights = [jnp.float32(index) for index in range(times)]
    return sum(float(_scaled(jit, weight)(x)) == index for index, weight in enumerate(weights))


def _scaled(
    jit: Callable[..., Callable[..., jax.Array]], weight: jax.Array
) -> Callable[[jax.Array], jax.Array]:
    return jit(lambda x: weight * x)


def _compilations_row(what: str, ours: Callable[[], int], theirs: Callable[[], int], goal: int) -> Row:
    our_count, our_right = _counted(ours)
    their_count, their_right = _counted(theirs)
    return Row(
        what,
        f"{our_count} compiled, {our_right} right",
        f"{their_count} compiled, {their_right} right",
        our_count,
        goal,
        unit="compiled",
    )


def _counted(run: Callable[[], int]) -> tuple[int, int]:
    before = compilations()
    right = run()
    return compilations() - before, right


def _instances(count: int) -> Row:
    x, alive = jnp.ones(()), weakref.WeakSet[Weight]()
    before = compilations()
    for index in range(count):
        weight = Weight(float(index))
        alive.add(weight)
        freshjit.jit(weight)(x)
    del weight
    gc.collect()
    compiled = compilations() - before
    what = f"{count} instances made, called, dropped"
    return Row(what, f"{compiled} compiled", "", len(alive), 0, unit="alive")


def _many(programs: int, what: str, index: int) -> Row:
    one, many = Mode(), _many_programs(programs)
    many.mode = str(index)
    few_jitted, many_jitted, x = freshjit.jit(one.few), freshjit.jit(many.many), jnp.zeros(())
    return ratio_row(
        f"a call with {programs} programs (the {what}), against one with 1",
        compare(lambda: many_jitted(x), lambda: few_jitted(x)),
        MANY_PROGRAMS_GOAL,
    )


def _in_turn(programs: int) -> Row:
    """Every call in another mode than the last; the other side only goes through the motions."""
    one, many = Mode(), _many_programs(programs)
    few_jitted, many_jitted, x = freshjit.jit(one.few), freshjit.jit(many.many), jnp.zeros(())
    modes, same = cycle([str(index) for index in range(programs)]), cycle(["0"])

    def in_turn() -> jax.Array:
        many.mode = next(modes)
        return many_jitted(x)

    def unchanged() -> jax.Array:
        one.mode = next(same)
        return few_jitted(x)

    what = f"a call with {programs} programs (each in turn), against one with 1"
    return ratio_row(what, compare(in_turn, unchanged), MANY_PROGRAMS_GOAL)


def _many_programs(programs: int) -> Mode:
    """An object whose method has been compiled in each mode."""
    model, x = Mode(), jnp.zeros(())
    jitted = freshjit.jit(model.many)
    for index in range(programs):
        model.mode = str(index)
        jitted(x)
    return model
