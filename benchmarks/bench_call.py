"""A call whose program is compiled already, against what people write or use today.

The yardstick is the functional `jax.jit` function one would write by hand: all state passed in as a pytree,
what is written passed out and put back by the caller.
"""

from collections.abc import Iterator
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from flax import nnx

import freshjit
from benchmarks._measure import compare
from benchmarks._report import Row, attempt, ratio_row

TITLE = "One call, compiled already"

FUNCTIONAL_GOAL = 1.05
EQUINOX_GOAL = 0.4
NNX_GOAL = 0.05
NUMBERS_GOAL = 1.05

Params = list[dict[str, jax.Array]]


class Layer:
    """Two small arrays: the maths should cost nothing beside the call."""

    def __init__(self) -> None:
        self.w = jnp.full(8, 0.5)
        self.b = jnp.full(8, 0.25)


class Model:
    """State as people hold it: objects in a list in an object."""

    def __init__(self, arrays: int) -> None:
        self.layers = [Layer() for _ in range(arrays // 2)]

    def read(self, x: jax.Array) -> jax.Array:
        """Reads every array, writes none."""
        for layer in self.layers:
            x = x * layer.w + layer.b
        return x

    def write(self, x: jax.Array) -> jax.Array:
        """Reads every array and writes one."""
        out = self.read(x)
        first = self.layers[0]
        first.b = 1.0 - first.b
        return out

    def params(self) -> Params:
        """The same leaves, for the functional version."""
        return [{"w": layer.w, "b": layer.b} for layer in self.layers]


@jax.jit
def functional_read(params: Params, x: jax.Array) -> jax.Array:
    """`Model.read` by hand."""
    return _forward(params, x)


@jax.jit
def functional_write(params: Params, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`Model.write` by hand: the written array comes out beside the result."""
    return _forward(params, x), 1.0 - params[0]["b"]


class Constants:
    """Twenty numbers that never change, as attributes, and twenty flags."""

    def __init__(self) -> None:
        for index in range(20):
            setattr(self, f"c{index}", 1.0 + index / 64)
            setattr(self, f"flag{index}", True)


def rows(quick: bool) -> Iterator[Row]:
    """All measurements, one by one."""
    for arrays in (2, 20) if quick else (2, 20, 200, 2000):
        for name, measure in (("read only", _read_only), ("one written", _one_written)):
            what = f"functional jax.jit, {arrays} arrays, {name}"
            yield attempt(what, partial(measure, what, arrays))
    for depth in (2,) if quick else (2, 20):
        for name, measure in (("equinox.filter_jit", _equinox), ("flax.nnx.jit", _nnx)):
            what = f"{name}, an MLP of {2 * (depth + 1)} arrays"
            yield attempt(what, partial(measure, what, depth))

    for name, measure in (
        ("20 flags", _numbers_flags),
        ("literals", _numbers_literal),
        ("functional jax.jit with literals", _numbers_baked),
    ):
        what = f"20 numbers in attributes against {name}"
        yield attempt(what, partial(measure, what))


def _forward(params: Params, x: jax.Array) -> jax.Array:
    for layer in params:
        x = x * layer["w"] + layer["b"]
    return x


def _by_attributes(c: Constants, x: jax.Array) -> jax.Array:
    x = x * c.c0 + c.c1 * c.c2 - c.c3 + c.c4 * c.c5 - c.c6 + c.c7 * c.c8 - c.c9
    return x * c.c10 + c.c11 * c.c12 - c.c13 + c.c14 * c.c15 - c.c16 + c.c17 * c.c18 - c.c19


def _by_flags(c: Constants, x: jax.Array) -> jax.Array:
    if c.flag0 and c.flag1 and c.flag2 and c.flag3 and c.flag4 and c.flag5 and c.flag6 and c.flag7:
        x = _by_literals(x)
    if c.flag8 and c.flag9 and c.flag10 and c.flag11 and c.flag12 and c.flag13 and c.flag14 and c.flag15:
        x = x if c.flag16 and c.flag17 and c.flag18 and c.flag19 else -x
    return x


def _by_literals(x: jax.Array) -> jax.Array:
    x = x * 1.0 + 1.015625 * 1.03125 - 1.046875 + 1.0625 * 1.078125 - 1.09375 + 1.109375 * 1.125 - 1.140625
    x = x * 1.15625 + 1.171875 * 1.1875 - 1.203125 + 1.21875 * 1.234375 - 1.25
    return x + 1.265625 * 1.28125 - 1.296875


def _numbers_flags(what: str) -> Row:
    constants, x = Constants(), jnp.ones(8)
    named = freshjit.jit(lambda x: _by_attributes(constants, x))
    flags = freshjit.jit(lambda x: _by_flags(constants, x))
    return ratio_row(what, compare(lambda: named(x), lambda: flags(x)), NUMBERS_GOAL)


def _numbers_literal(what: str) -> Row:
    constants, x = Constants(), jnp.ones(8)
    named = freshjit.jit(lambda x: _by_attributes(constants, x))
    literal = freshjit.jit(lambda x: _by_literals(x))
    return ratio_row(what, compare(lambda: named(x), lambda: literal(x)), NUMBERS_GOAL)


def _numbers_baked(what: str) -> Row:
    constants, x = Constants(), jnp.ones(8)
    named, baked = freshjit.jit(lambda x: _by_attributes(constants, x)), jax.jit(_by_literals)
    return ratio_row(what, compare(lambda: named(x), lambda: baked(x)), None)


def _read_only(what: str, arrays: int) -> Row:
    model, x = Model(arrays), jnp.ones(8)
    jitted, params = freshjit.jit(model.read), model.params()
    return ratio_row(what, compare(lambda: jitted(x), lambda: functional_read(params, x)), FUNCTIONAL_GOAL)


def _one_written(what: str, arrays: int) -> Row:
    model, x = Model(arrays), jnp.ones(8)
    jitted, params = freshjit.jit(model.write), model.params()

    def by_hand() -> jax.Array:
        out, params[0]["b"] = functional_write(params, x)
        return out

    return ratio_row(what, compare(lambda: jitted(x), by_hand), FUNCTIONAL_GOAL)


def _equinox(what: str, depth: int) -> Row:
    model, x = eqx.nn.MLP(8, 8, 8, depth, key=jax.random.key(0)), jnp.ones(8)
    ours = freshjit.jit(lambda x: model(x))
    theirs = eqx.filter_jit(lambda model, x: model(x))
    return ratio_row(what, compare(lambda: ours(x), lambda: theirs(model, x)), EQUINOX_GOAL)


def _nnx(what: str, depth: int) -> Row:
    rngs, x = nnx.Rngs(0), jnp.ones(8)
    model = nnx.Sequential(*(nnx.Linear(8, 8, rngs=rngs) for _ in range(depth + 1)))
    ours = freshjit.jit(lambda x: model(x))
    theirs = nnx.jit(lambda model, x: model(x))
    return ratio_row(what, compare(lambda: ours(x), lambda: theirs(model, x)), NNX_GOAL)
