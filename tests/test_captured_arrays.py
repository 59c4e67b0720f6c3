"""Captured JAX arrays answer what arrays answer, and a program is valid as long as the answer is the same."""

import logging
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from freshjit import UnsupportedStateError, jit


class Holder:
    def __init__(self, w):
        self.w = w


def after_changes(ask, *arrays):
    """What is answered for each of these arrays in turn, un-jitted and jitted."""
    holder = Holder(arrays[0])
    asked, wanted, got = jit(lambda x: (x, ask(holder.w))), [], []
    for array in arrays:
        holder.w = array
        wanted.append(ask(array))
        got.append(asked(1.0)[1])
    return wanted, got


NUMPY = {
    "asarray": np.asarray,
    "sort": np.sort,
    "argsort": np.argsort,
    "norm": np.linalg.norm,
    "tolist of asarray": lambda w: np.asarray(w).tolist(),
    "permutation": lambda w: np.random.RandomState(0).permutation(w),
    "choice": lambda w: np.random.default_rng(0).choice(w),
    "unique": np.unique,
    "cumsum": np.cumsum,
    "concatenate": lambda w: np.concatenate([w, w]),
    "histogram": lambda w: np.histogram(w)[0],
    "interp": lambda w: np.interp(1.5, np.sort(w), w),
    "from_dlpack": np.from_dlpack,
    "index": lambda w: np.arange(9)[w.astype(int)],
    "mask": lambda w: w[w > 1],
    "mask of another": lambda w: jnp.arange(3.0)[w > 1],
    "write by mask": lambda w: w.at[w > 1].set(0.0),
    "compress": lambda w: np.compress(w > 1, w),
    "setdiff": lambda w: jnp.setdiff1d(w, jnp.array([2.0])),
    "sorted": lambda w: [float(v) for v in sorted(w)],
    "list": lambda w: [float(v) for v in w],
    "tolist": lambda w: w.tolist(),
    "item": lambda w: w[0].item(),
    "pickle": lambda w: pickle.loads(pickle.dumps(w)),
    "str": str,
    "repr": repr,
    "format": lambda w: f"{w}",
    "text of what is computed": lambda w: f"{w * 2}",
}


@pytest.mark.parametrize("ask", NUMPY.values(), ids=NUMPY.keys())
def test_numpy_and_python_get_the_values_and_a_change_is_seen(ask):
    wanted, got = after_changes(ask, jnp.array([3.0, 1.0, 2.0]), jnp.array([0.0, 5.0, 2.0]))
    for a, b in zip(got, wanted, strict=True):
        assert isinstance(a, jax.Array) is isinstance(b, jax.Array)
        assert np.array_equal(np.asarray(a), np.asarray(b))


PLACEMENT = {
    "sharding": lambda w: w.sharding,
    "device": lambda w: w.device.id,
    "devices": lambda w: [d.id for d in w.devices()],
    "by getattr": lambda w: getattr(w, "sharding", None),
    "committed": lambda w: w.committed,
    "fully addressable": lambda w: w.is_fully_addressable,
    "fully replicated": lambda w: w.is_fully_replicated,
    "deleted": lambda w: w.is_deleted(),
    "size on device": lambda w: w.on_device_size_in_bytes(),
    "parts": lambda w: [s.device.id for s in w.addressable_shards],
    "data of parts": lambda w: w.addressable_data(0).tolist(),
}


@pytest.mark.skipif(jax.device_count() < 2, reason="needs two devices")
@pytest.mark.parametrize("ask", PLACEMENT.values(), ids=PLACEMENT.keys())
def test_where_an_array_lies_is_told_and_a_move_is_seen(ask):
    array = jnp.arange(2.0)
    wanted, got = after_changes(ask, array, jax.device_put(array, jax.devices()[1]), array)
    assert got == wanted


def test_asking_where_an_array_lies_does_not_make_its_contents_count():
    holder = Holder(jnp.arange(2.0))
    f = jit(lambda x: x * holder.w if holder.w.is_fully_addressable else x)
    f(1.0)
    holder.w = jnp.ones(2)
    assert f(2.0).tolist() == [2.0, 2.0]
    assert f._cache_size() == 1


def test_waiting_for_an_array_is_nothing_inside():
    holder = Holder(jnp.arange(2.0))

    @jit
    def f(x):
        holder.w.copy_to_host_async()
        return (holder.w.block_until_ready() * x).block_until_ready()

    assert f(2.0).tolist() == [0.0, 2.0]


@pytest.mark.parametrize("name", ["delete", "unsafe_buffer_pointer"])
def test_what_a_program_cannot_keep_is_refused_with_path_and_remedy(name):
    holder = Holder(jnp.arange(2.0))
    with pytest.raises(
        UnsupportedStateError, match=rf"holder\.w\.{name}\(\) was called at .*(?s:.)*Call it outside"
    ):
        jit(lambda x: (x, getattr(holder.w, name)()))(1.0)
    assert not holder.w.is_deleted()


def test_printing_and_logging_show_values_and_make_no_new_program(capsys, caplog):
    holder = Holder(jnp.arange(2.0))

    @jit
    def f(x):
        print("w is", holder.w)
        logging.getLogger("shown").warning("w is %s", holder.w)
        return x * holder.w

    f(1.0)
    assert capsys.readouterr().out == "w is [0. 1.]\n"
    assert "w is [0. 1.]\n" in caplog.text  # formatted while the function runs
    holder.w = jnp.ones(2)
    assert f(2.0).tolist() == [2.0, 2.0]
    assert f._cache_size() == 1
