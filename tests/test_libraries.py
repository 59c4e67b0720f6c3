"""Which code is a library's: by where it is, so that a user's file may be called what it likes."""

import argparse
import sys
import types

import jax.numpy as jnp

from freshjit import jit
from freshjit.state import libraries


def test_standard_library_and_jax_are_libraries():
    assert all(
        map(libraries.is_library_module, ["functools", "collections.abc", "jax.numpy", "numpy.linalg"])
    )
    assert not any(map(libraries.is_library_module, ["__main__", "model", "equinox", None]))


def test_module_of_the_user_with_the_name_of_a_standard_one_is_read_live(tmp_path, monkeypatch):
    """A file sched.py beside the script hides the standard module; its globals are the user's state."""
    (tmp_path / "sched.py").write_text("RATE = 1.0\ndef scale(x):\n    return x * RATE\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sched", raising=False)
    libraries._in_standard_library.cache_clear()
    import sched

    try:
        f = jit(lambda x: sched.scale(x))
        assert float(f(2.0)) == 2.0
        sched.RATE = 3.0
        assert float(f(2.0)) == 6.0
    finally:
        sys.modules.pop("sched", None)
        libraries._in_standard_library.cache_clear()


def test_instances_of_standard_classes_are_watched_but_not_their_methods():
    options = argparse.Namespace(scale=2.0, w=jnp.ones(2))
    before = dict(argparse.Namespace.__dict__)
    f = jit(lambda x: x * options.scale + options.w)
    assert f(1.0).tolist() == [3.0, 3.0]
    options.scale = 5.0
    assert f(1.0).tolist() == [6.0, 6.0]
    assert dict(argparse.Namespace.__dict__) == before


def test_module_made_by_hand_is_the_users():
    module = types.ModuleType("handmade")
    module.K = 2.0
    f = jit(lambda x: x * module.K)
    assert float(f(1.0)) == 2.0
    module.K = 7.0
    assert float(f(1.0)) == 7.0
