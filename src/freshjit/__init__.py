"""freshjit: a drop-in for ``jax.jit`` that is never stale."""

from freshjit.errors import (
    CapturedNumpyWriteError,
    FreshjitError,
    FreshjitWarning,
    FrozenValueError,
    LeakedWriteError,
    StaleCompiledError,
    StateMismatchError,
    UnstableStateError,
    UnsupportedStateError,
)
from freshjit.functionalize import Functional, functionalize
from freshjit.jit import FreshJit, jit
from freshjit.transforms import (
    Transformed,
    associative_scan,
    checkpoint,
    cond,
    eval_shape,
    fori_loop,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    make_jaxpr,
    remat,
    scan,
    shard_map,
    switch,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from freshjit.transforms import (
    map as map,  # not in __all__: `import *` must not replace the builtin
)
from freshjit.tree import State

__all__ = [
    "CapturedNumpyWriteError",
    "FreshJit",
    "FreshjitError",
    "FreshjitWarning",
    "FrozenValueError",
    "Functional",
    "LeakedWriteError",
    "StaleCompiledError",
    "State",
    "StateMismatchError",
    "Transformed",
    "UnstableStateError",
    "UnsupportedStateError",
    "associative_scan",
    "checkpoint",
    "cond",
    "eval_shape",
    "fori_loop",
    "functionalize",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "linearize",
    "make_jaxpr",
    "remat",
    "scan",
    "shard_map",
    "switch",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
__version__ = "0.1.0"
