"""JAX's transforms for functions that read and write state: ``freshjit.grad``, ``vmap``, ``scan``…

Inside a jitted function the plain spellings (``jax.grad``, ``jax.lax.scan``) do what these do. Outside,
where JAX would leak tracers into the state or never see it change, use these. State that the function
writes is written once the transform has run, as if the function had run without it.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from freshjit import live
from freshjit.errors import StateMismatchError
from freshjit.jit import FreshJit, jit
from freshjit.state.active import present, thread
from freshjit.state.arguments import POSITIONAL, parameters_of
from freshjit.state.capture import Capture
from freshjit.state.path import Path
from freshjit.state.views import arrays, kinds, loops, places
from freshjit.state.views import transforms as inside
from freshjit.state.views.apart import named
from freshjit.tracebacks import boundary
from freshjit.tree import State, some_of
from freshjit.wrapper import wrap

__all__ = [
    "Transformed",
    "associative_scan",
    "checkpoint",
    "cond",
    "eval_shape",
    "fori_loop",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "make_jaxpr",
    "map",
    "remat",
    "scan",
    "shard_map",
    "switch",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]

Function = Callable[..., Any]


class Transformed:
    """A function made by one of freshjit's transforms: ``grad``, ``vmap``, ``checkpoint``…

    Called outside of a jitted function, it runs operation by operation, as JAX's do, and writes the state
    when it has returned, all or nothing. In a jitted function it is part of that one. A transform of a jitted
    function is compiled as a whole. It is a function like any other: it can be a method, jitted, transformed.

    Example:
        >>> import jax.numpy as jnp
        >>> import freshjit
        >>> class Model:
        ...     def __init__(self):
        ...         self.calls = 0
        ...
        ...     def loss(self, x):
        ...         self.calls += 1
        ...         return x**2
        ...
        ...     slope = freshjit.grad(loss, argnums=1)
        >>> model = Model()
        >>> float(model.slope(3.0)), model.calls
        (6.0, 1)
    """

    __freshjit_method__ = True
    __name__: str
    __wrapped__: Function

    def __init__(
        self, transform: Function, function: Function, options: dict[str, Any], compiles: bool = True
    ) -> None:
        if not callable(function):
            raise TypeError(f"{transform.__name__.strip('_')} expects a callable, got {function!r}")
        wrap(self, function)
        self._transform, self._function, self._options = transform, function, options
        self._compiles = compiles
        self._made = present()

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        capture = thread.capture
        if capture is not None:
            function = capture.enter(self._function, self._made)
            return self._transform(function, **self._options)(*args, **kwargs)
        if self._compiles and _is_jitted(self._function):
            return jit(self)(*args, **kwargs)
        return live.run(
            self._function,
            args,
            kwargs,
            lambda view, args, kwargs: self._transform(view, **self._options)(*args, **kwargs),
        )

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<freshjit.{self._transform.__name__.strip('_')} of {self._function!r}>"


def _is_jitted(function: Any) -> bool:
    while isinstance(function, (Transformed, functools.partial, types.MethodType)):
        if isinstance(function, types.MethodType):
            function = function.__func__
        else:
            function = function.func if isinstance(function, functools.partial) else function.__wrapped__
    return isinstance(function, FreshJit)


def _view_transformed(capture: Capture, value: Transformed, path: Path) -> Any:
    """In a capture: the transform of the view of the function, with the options as they are now."""
    transform: Function = value._transform  # pyright: ignore[reportPrivateUsage]
    capture.guard(path, "type", Transformed)
    capture.guard(path.attr("_transform"), "is", transform)
    function = capture.view(value.__wrapped__, path.to("attr", "__wrapped__", str(path)))
    options = capture.view(value._options, path.attr("_options"))  # pyright: ignore[reportPrivateUsage]
    view = transform(function, **options)
    capture.alias_view(value, view, path)
    return view


kinds.register(Transformed, _view_transformed)


def _compiled(transform: Function, function: Function, options: dict[str, Any], *args: Any) -> Any:
    """Loops and branches, which JAX compiles even where everything else runs eagerly."""
    transformed = Transformed(transform, function, options)
    return transformed(*args) if thread.capture is not None else jit(transformed)(*args)


# -- differentiation ----------------------------------------------------------------------------------


def _with_respect_to_state(transform: Function) -> Function:
    """``grad`` and the like for arrays in the state: ``wrt`` names them."""

    def transformed(fun: Function, wrt: Any, argnums: Any, has_aux: bool, **options: Any) -> Function:
        if wrt is None:
            return transform(fun, 0 if argnums is None else argnums, has_aux, **options)
        numbers = () if argnums is None else (argnums,) if isinstance(argnums, int) else tuple(argnums)
        shifted = 0 if argnums is None else (0, *(n + 1 if n >= 0 else n for n in numbers))

        def call(*args: Any, **kwargs: Any) -> Any:
            leaves = _leaves(wrt, fun, args, kwargs)

            def with_state(state: State, *args: Any, **kwargs: Any) -> Any:
                with places.entered(leaves, [state[leaf.label] for leaf in leaves]):
                    return fun(*args, **kwargs)

            state = State({leaf.label: jnp.asarray(arrays.to_jax(leaf.value)) for leaf in leaves})
            differentiated = transform(named(with_state, fun), shifted, has_aux, **options)
            result = differentiated(state, *args, **kwargs)
            if argnums is None:
                return result
            if transform is inside.value_and_grad:
                return result[0], _arguments_first(result[1], argnums)
            if has_aux:
                return _arguments_first(result[0], argnums), result[1]
            return _arguments_first(result, argnums)

        return named(call, fun)

    transformed.__name__ = transform.__name__
    return transformed


def _leaves(wrt: Any, fun: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[places.Leaf]:
    capture = thread.capture
    assert capture is not None
    positional = [p.name for p in parameters_of(fun) if p.kind in POSITIONAL]
    arguments = {**dict(zip(positional, args, strict=False)), **kwargs}
    found = places.select(capture, wrt, fun, arguments)
    leaves = [leaf for leaf in found if _differentiable(leaf.value)]
    if not leaves:
        instead = f"but only {some_of(leaf.label for leaf in found)}" if found else "and no other array"
        raise StateMismatchError(
            f"there is nothing to differentiate in wrt={wrt!r}: no array of floating point numbers, "
            f"{instead}.\nName an object, a container or an attribute that holds some, for instance "
            "wrt='self.params'. A Python number counts if it is named itself, as in wrt='self.rate'."
        )
    return leaves


def _differentiable(value: Any) -> bool:
    if isinstance(value, (int, float, complex)):  # a number that changes says so too
        return not isinstance(value, int)
    return jnp.issubdtype(value.dtype, jnp.inexact)


def _arguments_first(gradients: Any, argnums: Any) -> Any:
    """The gradients of the arguments, as ``argnums`` asks for them, and that of the state."""
    state, *others = gradients
    return (others[0] if isinstance(argnums, int) else tuple(others)), state


_grad = _with_respect_to_state(inside.grad)
_value_and_grad = _with_respect_to_state(inside.value_and_grad)
_jacfwd = _with_respect_to_state(inside.jacfwd)
_jacrev = _with_respect_to_state(inside.jacrev)
_hessian = _with_respect_to_state(inside.hessian)


def grad(
    fun: Function,
    argnums: int | Sequence[int] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    wrt: Any = None,
) -> Transformed:
    """The gradient of a function that may read and write state, as ``jax.grad``.

    What the function writes is written with its primal values, as if it had run undifferentiated.

    Parameters:
        fun: a function of real scalar value; with ``has_aux``, of a pair ``(value, aux)``.
        argnums: which arguments to differentiate; the first, unless ``wrt`` is given.
        has_aux, holomorphic, allow_int: as for ``jax.grad``.
        wrt: which state to differentiate: a path as a string (``"self.params"``), a function without
            parameters that names things (``lambda: model.layers``), an object, or a list of such.

    Returns:
        A function of the same arguments that gives the gradient. That of state is a ``State``: arrays by
        path, for every array of floating point numbers under ``wrt``. With both ``argnums`` and ``wrt`` it
        gives a pair, the gradient of the arguments first.

    Raises:
        StateMismatchError: on call, if there is nothing to differentiate at ``wrt``.

    Example:
        >>> import jax.numpy as jnp
        >>> import freshjit
        >>> class Line:
        ...     def __init__(self):
        ...         self.params, self.calls = {"a": jnp.float32(2.0), "b": jnp.float32(0.0)}, 0
        ...
        ...     def loss(self, x, y):
        ...         self.calls += 1
        ...         return (self.params["a"] * x + self.params["b"] - y) ** 2
        >>> line = Line()
        >>> gradient = freshjit.grad(line.loss, wrt="self.params")(3.0, 5.0)
        >>> float(gradient["self.params['a']"]), float(gradient["self.params['b']"]), line.calls
        (6.0, 2.0, 1)
    """
    options = {"holomorphic": holomorphic, "allow_int": allow_int}
    return Transformed(_grad, fun, {"wrt": wrt, "argnums": argnums, "has_aux": has_aux, **options})


def value_and_grad(
    fun: Function,
    argnums: int | Sequence[int] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    wrt: Any = None,
) -> Transformed:
    """Value and gradient of a function that may read and write state, as ``jax.value_and_grad``.

    Parameters:
        fun, argnums, has_aux, holomorphic, allow_int, wrt: as for ``grad``.

    Returns:
        A function of the same arguments that gives ``(value, gradient)``; with ``has_aux``
        ``((value, aux), gradient)``. The gradient is that of ``grad``.

    Raises:
        StateMismatchError: on call, if there is nothing to differentiate at ``wrt``.

    Example:
        >>> import jax.numpy as jnp
        >>> import freshjit
        >>> weights = [jnp.float32(2.0), jnp.float32(3.0)]
        >>> def loss(x):
        ...     return weights[0] * weights[1] * x
        >>> value, gradient = freshjit.value_and_grad(loss, wrt=lambda: weights)(1.0)
        >>> float(value), float(gradient["weights[0]"]), float(gradient["weights[1]"])
        (6.0, 3.0, 2.0)
    """
    options = {"holomorphic": holomorphic, "allow_int": allow_int}
    return Transformed(_value_and_grad, fun, {"wrt": wrt, "argnums": argnums, "has_aux": has_aux, **options})


def jacfwd(
    fun: Function,
    argnums: int | Sequence[int] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    wrt: Any = None,
) -> Transformed:
    """The Jacobian by forward mode, as ``jax.jacfwd``, of a function that may read and write state.

    Parameters:
        fun: a function of arrays of any shape; with ``has_aux``, of a pair ``(value, aux)``.
        argnums, wrt: what to differentiate, as for ``grad``.
        has_aux, holomorphic: as for ``jax.jacfwd``.

    Returns:
        A function of the same arguments that gives the Jacobian: for a value of shape ``s`` and an input of
        shape ``t`` an array of shape ``s + t``. For state it is a ``State`` of such arrays by path.

    Raises:
        StateMismatchError: on call, if there is nothing to differentiate at ``wrt``.

    Example:
        >>> import jax.numpy as jnp
        >>> import freshjit
        >>> weights = jnp.array([2.0, 3.0])
        >>> def scaled(x):
        ...     return weights * x
        >>> freshjit.jacfwd(scaled)(1.0)
        Array([2., 3.], dtype=float32)
        >>> freshjit.jacfwd(scaled, wrt="weights")(10.0)["weights"]
        Array([[10.,  0.],
               [ 0., 10.]], dtype=float32)
    """
    options = {"has_aux": has_aux, "holomorphic": holomorphic}
    return Transformed(_jacfwd, fun, {"wrt": wrt, "argnums": argnums, **options})


def jacrev(
    fun: Function,
    argnums: int | Sequence[int] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    wrt: Any = None,
) -> Transformed:
    """The Jacobian by reverse mode, as ``jax.jacrev``, of a function that may read and write state.

    Parameters:
        fun: a function of arrays of any shape; with ``has_aux``, of a pair ``(value, aux)``.
        argnums, wrt: what to differentiate, as for ``grad``.
        has_aux, holomorphic, allow_int: as for ``jax.jacrev``.

    Returns:
        A function of the same arguments that gives the Jacobian, in the form of ``jacfwd``.

    Raises:
        StateMismatchError: on call, if there is nothing to differentiate at ``wrt``.

    Example:
        >>> import jax.numpy as jnp
        >>> import freshjit
        >>> weights = jnp.array([2.0, 3.0])
        >>> def total(x):
        ...     return jnp.stack([jnp.sum(weights) * x, x])
        >>> freshjit.jacrev(total, wrt="weights")(10.0)["weights"]
        Array([[10., 10.],
               [ 0.,  0.]], dtype=float32)
    """
    options = {"has_aux": has_aux, "holomorphic": holomorphic, "allow_int": allow_int}
    return Transformed(_jacrev, fun, {"wrt": wrt, "argnums": argnums, **options})


def hessian(
    fun: Function,
    argnums: int | Sequence[int] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    wrt: Any = None,
) -> Transformed:
    """The Hessian, as ``jax.hessian``, of a function that may read and write state.

    Parameters:
        fun: a function of real value; with ``has_aux``, of a pair ``(value, aux)``.
        argnums: which arguments to differentiate; the first, unless ``wrt`` is given.
        has_aux, holomorphic: as for ``jax.hessian``.
        wrt: which state to differentiate in place of arguments, as for ``grad``.

    Returns:
        A function of the same arguments that gives the second derivatives. Those of state are a ``State`` of
        ``State``: ``hessian[path][other path]``, each of the shapes of value and both arrays in a row.

    Raises:
        ValueError: at once, if both ``argnums`` and ``wrt`` are given.
        StateMismatchError: on call, if there is nothing to differentiate at ``wrt``.

    Example:
        >>> import jax.numpy as jnp
        >>> import freshjit
        >>> point = {"x": jnp.float32(2.0), "y": jnp.float32(3.0)}
        >>> def height():
        ...     return point["x"] ** 2 * point["y"]
        >>> second = freshjit.hessian(height, wrt="point")()
        >>> float(second["point['x']"]["point['x']"]), float(second["point['x']"]["point['y']"])
        (6.0, 4.0)
    """
    if wrt is not None and argnums is not None:
        raise ValueError(
            "hessian takes either argnums or wrt: mixed second derivatives have no order of their own.\n"
            "Say the order: freshjit.jacrev(freshjit.grad(f, wrt=...), argnums)."
        )
    options = {"has_aux": has_aux, "holomorphic": holomorphic}
    return Transformed(_hessian, fun, {"wrt": wrt, "argnums": argnums, **options})


def _at_once(transform: Function, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Transforms that run the function when they are called; what they give may be functions."""
    if thread.capture is not None:
        return transform(function, *args, **kwargs)  # what traced code holds already
    return live.run(function, args, {}, lambda view, args, _: transform(view, *args, **kwargs))


def vjp(fun: Function, *primals: Any, has_aux: bool = False) -> Any:
    """Value and vector-Jacobian product, as ``jax.vjp``; what ``fun`` writes is written once, now.

    Parameters:
        fun, primals, has_aux: as for ``jax.vjp``.

    Returns:
        ``(value, pull)``, with ``has_aux`` ``(value, pull, aux)``. ``pull`` takes a cotangent of the value's
        shape and dtype and gives a tuple with one for each primal; it runs none of your code.

    Raises:
        FreshjitError: if some state can be neither read nor written under a trace.

    Example:
        >>> import freshjit
        >>> calls = []
        >>> def square(x):
        ...     calls.append(x)
        ...     return x * x
        >>> value, pull = freshjit.vjp(square, 3.0)
        >>> float(value), float(pull(1.0)[0]), float(pull(10.0)[0]), len(calls)
        (9.0, 6.0, 60.0, 1)
    """
    return _at_once(inside.vjp, fun, primals, {"has_aux": has_aux})


def linearize(fun: Function, *primals: Any, has_aux: bool = False) -> Any:
    """Value and linear approximation, as ``jax.linearize``; what ``fun`` writes is written once, now.

    Parameters:
        fun, primals, has_aux: as for ``jax.linearize``.

    Returns:
        ``(value, push)``, with ``has_aux`` ``(value, push, aux)``. ``push`` takes a tangent for each primal,
        of its shape, and gives that of the value; it runs none of your code.

    Raises:
        FreshjitError: if some state can be neither read nor written under a trace.

    Example:
        >>> import freshjit
        >>> scale = [3.0]
        >>> value, push = freshjit.linearize(lambda x: scale[0] * x * x, 2.0)
        >>> float(value), float(push(1.0)), float(push(0.5))
        (12.0, 12.0, 6.0)
    """
    return _at_once(inside.linearize, fun, primals, {"has_aux": has_aux})


def jvp(fun: Function, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """Value and Jacobian-vector product, as ``jax.jvp``; what ``fun`` writes is written once, now.

    Parameters:
        fun, has_aux: as for ``jax.jvp``.
        primals, tangents: tuples or lists with one entry per argument of ``fun``, of equal shapes and dtypes.

    Returns:
        ``(value, tangent)``, with ``has_aux`` ``(value, tangent, aux)``.

    Raises:
        FreshjitError: if some state can be neither read nor written under a trace.

    Example:
        >>> import freshjit
        >>> class Power:
        ...     n, last = 3, 0.0
        ...
        ...     def __call__(self, x):
        ...         self.last = x**self.n
        ...         return self.last
        >>> cube = Power()
        >>> value, tangent = freshjit.jvp(cube, (2.0,), (1.0,))
        >>> float(value), float(tangent), float(cube.last)
        (8.0, 12.0, 8.0)
    """
    return _at_once(inside.jvp, fun, (primals, tangents), {"has_aux": has_aux})


# -- mapping, rematerialisation -----------------------------------------------------------------------


def vmap(
    fun: Function,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    *,
    state_axes: Mapping[str, Any] | None = None,
) -> Transformed:
    """Vectorise a function that may read and write state, as ``jax.vmap``.

    A write that does not depend on what is mapped is made once (a counter, or a mean over the lanes by
    ``jax.lax.pmean``). One that is computed from what is mapped has one value per lane, equal or not. That
    has no meaning in plain Python and raises, unless ``state_axes`` says what it means.

    Parameters:
        fun, in_axes, out_axes, axis_name, axis_size, spmd_axis_name: as for ``jax.vmap``.
        state_axes: what becomes of state that differs from lane to lane, by path, as messages print it (one
            path covers everything below it):

            * an axis: what the lanes write is stacked along it. If the value there already has one
              entry per lane along this axis, each lane reads its own.
            * a pair ``(in, out)`` of axes or None, which says each way by itself.
            * ``"mean"``, ``"sum"``, ``"max"``, ``"min"``, ``"first"``, ``"last"``, or a function of
              the values stacked along axis 0, which makes one value of them.

    Returns:
        A function of arguments that have the mapped axes; its results have those of ``out_axes``.

    Raises:
        ValueError: on call, if an entry of ``state_axes`` is none of these.
        StateMismatchError: on call, if ``state_axes`` has an axis for a path at which there is nothing.
        LeakedWriteError: on call, if what is written has one value per lane and no meaning.

    Example:
        >>> import jax.numpy as jnp
        >>> import freshjit
        >>> class Norm:
        ...     mean = jnp.float32(0.0)
        ...
        ...     def __call__(self, x):
        ...         self.mean = x
        ...         return x * 2
        >>> norm = Norm()
        >>> freshjit.vmap(norm, state_axes={"self.mean": "mean"})(jnp.arange(3.0))
        Array([0., 2., 4.], dtype=float32)
        >>> float(norm.mean)
        1.0
    """
    options = {"axis_name": axis_name, "axis_size": axis_size, "spmd_axis_name": spmd_axis_name}
    options.update(in_axes=in_axes, out_axes=out_axes, state_axes=state_axes)
    return Transformed(inside.vmap, fun, options)


def shard_map(
    f: Function | None = None, /, *, state_specs: Mapping[str, Any] | None = None, **options: Any
) -> Any:
    """Map a function over the shards of its arguments, as ``jax.shard_map``.

    State that is written must be the same on all devices (reduce it with ``jax.lax.pmean``…), unless
    ``state_specs`` gives, by path, the ``PartitionSpec`` of what the devices write together.

    Parameters:
        f, options: as for ``jax.shard_map`` (``mesh``, ``in_specs``, ``out_specs``…). Without ``f`` it is a
            decorator.
        state_specs: how written state is laid out, by path, as messages print it: a ``PartitionSpec`` each.

    Returns:
        A function of whole arrays, which the devices of the mesh compute together.

    Raises:
        LeakedWriteError: on call, if state is written that may differ from device to device.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> import freshjit
        >>> class Norm:
        ...     mean = jnp.float32(0.0)
        ...
        ...     def __call__(self, x):
        ...         self.mean = jax.lax.pmean(jnp.mean(x), "data")
        ...         return x - self.mean
        >>> norm, split = Norm(), jax.sharding.PartitionSpec("data")
        >>> mesh = jax.make_mesh((jax.device_count(),), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
        >>> x = jnp.repeat(jnp.array([1.0, 3.0]), jax.device_count())
        >>> y = freshjit.shard_map(norm, mesh=mesh, in_specs=split, out_specs=split)(x)
        >>> float(y[0]), float(norm.mean)
        (-1.0, 2.0)
    """
    if f is None:
        return lambda function: shard_map(function, state_specs=state_specs, **options)
    return Transformed(inside.shard_map, f, {"state_specs": state_specs, **options})


def checkpoint(fun: Function | None = None, **options: Any) -> Any:
    """Recompute a function's intermediate values when it is differentiated, as ``jax.checkpoint``.

    What the function writes is written once, though parts of it may be computed twice. ``remat`` is another
    name of it.

    Parameters:
        fun, options: as for ``jax.checkpoint`` (``policy``, ``prevent_cse``, ``static_argnums``…). Without
            ``fun`` it is a decorator.

    Returns:
        A function of the same arguments and results.

    Raises:
        FreshjitError: on call, if some state can be neither read nor written under a trace.

    Example:
        >>> import jax.numpy as jnp
        >>> import freshjit
        >>> class Block:
        ...     calls = 0
        ...
        ...     def __call__(self, x):
        ...         self.calls += 1
        ...         return jnp.sin(jnp.sin(x))
        >>> block = Block()
        >>> float(freshjit.grad(freshjit.checkpoint(block))(0.0)), block.calls
        (1.0, 1)
    """
    if fun is None:
        return lambda function: checkpoint(function, **options)
    return Transformed(inside.checkpoint, fun, options)


remat = checkpoint


# -- looking without running --------------------------------------------------------------------------


def eval_shape(fun: Function, *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of the result, as ``jax.eval_shape``: nothing is computed or written.

    Parameters:
        fun: a function that may read and write state.
        args, kwargs: its arguments; arrays may be ``jax.ShapeDtypeStruct``.

    Returns:
        The result of ``fun``, with a ``jax.ShapeDtypeStruct`` in the place of each array.

    Raises:
        FreshjitError: if some state can be neither read nor written under a trace.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> import freshjit
        >>> table, calls = jnp.ones((3, 2)), []
        >>> def look_up(x):
        ...     calls.append(x)
        ...     return table @ x
        >>> freshjit.eval_shape(look_up, jax.ShapeDtypeStruct((2,), jnp.float32)), calls
        (ShapeDtypeStruct(shape=(3,), dtype=float32), [])
    """
    return Transformed(_eval_shape, fun, {}, compiles=False)(*args, **kwargs)


def _eval_shape(fun: Function) -> Function:
    return functools.partial(inside.eval_shape, fun)


def make_jaxpr(fun: Function, **options: Any) -> Transformed:
    """The jaxpr of a function, as ``jax.make_jaxpr``: nothing is computed or written.

    Captured arrays are constants of the jaxpr. To see them as inputs, and what is written as outputs,
    use ``jax.make_jaxpr(functionalize(fun))``.

    Parameters:
        fun, options: as for ``jax.make_jaxpr`` (``static_argnums``, ``axis_env``, ``return_shape``…).

    Returns:
        A function of the same arguments that gives a closed jaxpr, of the state as it is at the call.

    Raises:
        FreshjitError: on call, if some state can be neither read nor written under a trace.

    Example:
        >>> import jax.numpy as jnp
        >>> import freshjit
        >>> config = {"double": True}
        >>> jaxpr = freshjit.make_jaxpr(lambda x: 2 * x if config["double"] else x)
        >>> [len(jaxpr(1.0).eqns), config.update(double=False), len(jaxpr(1.0).eqns)]
        [1, None, 0]
    """
    return Transformed(inside.make_jaxpr, fun, options, compiles=False)


# -- loops and branches -------------------------------------------------------------------------------


def scan(
    f: Function, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False, unroll: Any = 1
) -> Any:
    """Scan a function along an axis, as ``jax.lax.scan``; state that ``f`` writes is carried along.

    Parameters:
        f: ``f(carry, x) -> (carry, y)``; the carry keeps its structure, shapes and dtypes.
        init, xs, length, reverse, unroll: as for ``jax.lax.scan``.

    Returns:
        ``(carry, ys)``: the last carry, and all ``y`` stacked along a new first axis.

    Raises:
        UnsupportedStateError: if state that ``f`` writes changes its shape or dtype from one round to the
            next, or is first given a value inside.

    Example:
        >>> import jax.numpy as jnp
        >>> import freshjit
        >>> class Sum:
        ...     total = jnp.float32(0.0)
        >>> running = Sum()
        >>> def add(carry, x):
        ...     running.total = running.total + x
        ...     return carry, running.total
        >>> freshjit.scan(add, None, jnp.arange(4.0))[1]
        Array([0., 1., 3., 6.], dtype=float32)
        >>> float(running.total)
        6.0
    """
    return _compiled(_scan, f, {"length": length, "reverse": reverse, "unroll": unroll}, init, xs)


def _scan(f: Function, **options: Any) -> Function:
    return lambda init, xs: loops.scan(f, init, xs, **options)


def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Any, *, unroll: Any = None) -> Any:
    """Loop over a range, as ``jax.lax.fori_loop``; state that the body writes is carried along.

    Parameters:
        lower, upper: the range, integers: Python's, or scalar arrays.
        body_fun: ``body_fun(i, value) -> value``, of the same structure, shapes and dtypes.
        init_val, unroll: as for ``jax.lax.fori_loop``.

    Returns:
        The last value.

    Raises:
        UnsupportedStateError: as for ``scan``.

    Example:
        >>> import freshjit
        >>> class Walk:
        ...     steps = 0
        >>> walk = Walk()
        >>> def forward(i, place):
        ...     walk.steps += 1
        ...     return place + i
        >>> int(freshjit.fori_loop(0, 4, forward, 10)), int(walk.steps)
        (16, 4)
    """
    bounds = {"lower": lower, "upper": upper}
    if all(isinstance(bound, int) for bound in (lower, upper)):
        return _compiled(_fori_loop, body_fun, {**bounds, "unroll": unroll}, init_val)
    return _compiled(_fori_loop_with_bounds, body_fun, {"unroll": unroll}, lower, upper, init_val)


def _fori_loop(body_fun: Function, lower: int, upper: int, unroll: Any) -> Function:
    return lambda init_val: loops.fori_loop(lower, upper, body_fun, init_val, unroll=unroll)


def _fori_loop_with_bounds(body_fun: Function, unroll: Any) -> Function:
    return lambda lower, upper, init_val: loops.fori_loop(lower, upper, body_fun, init_val, unroll=unroll)


def while_loop(cond_fun: Function, body_fun: Function, init_val: Any) -> Any:
    """Loop while a condition holds, as ``jax.lax.while_loop``; state that the body writes is carried along.

    Parameters:
        cond_fun: ``cond_fun(value) -> bool``; it may read state, also what the body writes.
        body_fun: ``body_fun(value) -> value``, of the same structure, shapes and dtypes.
        init_val: the first value.

    Returns:
        The last value.

    Raises:
        UnsupportedStateError: as for ``scan``, and if the condition writes state.

    Example:
        >>> import freshjit
        >>> class Search:
        ...     tries = 0
        >>> search = Search()
        >>> def halve(x):
        ...     search.tries += 1
        ...     return x / 2
        >>> float(freshjit.while_loop(lambda x: x > 1, halve, 8.0)), int(search.tries)
        (1.0, 3)
    """
    return _compiled(_while_loop, body_fun, {"cond_fun": cond_fun}, init_val)


def _while_loop(body_fun: Function, cond_fun: Function) -> Function:
    return lambda init_val: loops.while_loop(cond_fun, body_fun, init_val)


def map(f: Function, xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply a function to each element in turn, as ``jax.lax.map``; state that it writes is carried along.

    Not among the names of ``from freshjit import *``, where it would hide Python's own.

    Parameters:
        f: a function of one element.
        xs: an array, or a pytree of arrays, with the elements along the first axis.
        batch_size: as for ``jax.lax.map``.

    Returns:
        The results, stacked along a new first axis.

    Raises:
        UnsupportedStateError: as for ``scan``.

    Example:
        >>> import jax.numpy as jnp
        >>> import freshjit
        >>> class Sum:
        ...     total = jnp.float32(0.0)
        >>> running = Sum()
        >>> def add(x):
        ...     running.total = running.total + x
        ...     return running.total
        >>> freshjit.map(add, jnp.arange(4.0))
        Array([0., 1., 3., 6.], dtype=float32)
    """
    return _compiled(_map, f, {"batch_size": batch_size}, xs)


def _map(f: Function, batch_size: int | None) -> Function:
    return lambda xs: loops.map_(f, xs, batch_size=batch_size)


def cond(pred: Any, true_fun: Function, false_fun: Function, *operands: Any) -> Any:
    """Run one of two functions, as ``jax.lax.cond``; what the chosen one writes is written.

    Parameters:
        pred: a boolean or a scalar array: which one.
        true_fun, false_fun: functions of the operands, with results of equal structure, shapes and dtypes.
        operands: what the chosen function is given.

    Returns:
        Its result.

    Raises:
        UnsupportedStateError: if one function gives state a form that the other does not, or that the
            device cannot choose (a string, a list of another length).

    Example:
        >>> import jax.numpy as jnp
        >>> import freshjit
        >>> class Valve:
        ...     opened = jnp.int32(0)
        >>> valve = Valve()
        >>> def release(x):
        ...     valve.opened = valve.opened + 1
        ...     return 0.0 * x
        >>> [float(freshjit.cond(x > 2, release, lambda x: x, x)) for x in (1.0, 3.0)], int(valve.opened)
        ([1.0, 0.0], 1)
    """
    return _compiled(_cond, true_fun, {"false_fun": false_fun}, pred, *operands)


def _cond(true_fun: Function, false_fun: Function) -> Function:
    return lambda pred, *operands: loops.cond(pred, true_fun, false_fun, *operands)


def switch(index: Any, branches: Sequence[Function], *operands: Any) -> Any:
    """Run one of several functions, as ``jax.lax.switch``; what the chosen one writes is written.

    Parameters:
        index: an integer or a scalar array: which one; out of range, the first or the last.
        branches: functions of the operands, with results of equal structure, shapes and dtypes.
        operands: what the chosen function is given.

    Returns:
        Its result.

    Raises:
        ValueError: if there are no branches.
        UnsupportedStateError: as for ``cond``.

    Example:
        >>> import jax.numpy as jnp
        >>> import freshjit
        >>> votes = {"left": jnp.int32(0), "right": jnp.int32(0)}
        >>> def left():
        ...     votes["left"] = votes["left"] + 1
        >>> def right():
        ...     votes["right"] = votes["right"] + 1
        >>> for i in (0, 1, 1):
        ...     freshjit.switch(i, [left, right])
        >>> int(votes["left"]), int(votes["right"])
        (1, 2)
    """
    if not branches:
        raise ValueError("Empty branch sequence")
    first, *others = branches
    return _compiled(_switch, first, {"others": tuple(others)}, index, *operands)


def _switch(first: Function, others: tuple[Function, ...]) -> Function:
    return lambda index, *operands: loops.switch(index, (first, *others), *operands)


def associative_scan(fn: Function, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Scan with an associative operation in parallel, as ``jax.lax.associative_scan``.

    The operation is called some times with whole slices, as in JAX. It may read state; what it writes is what
    these calls write.

    Parameters:
        fn: ``fn(a, b)``, associative, of arrays with the scanned axis.
        elems: an array, or a pytree of arrays, with the elements along ``axis``.
        reverse, axis: as for ``jax.lax.associative_scan``.

    Returns:
        The running results, of the form of ``elems``.

    Raises:
        FreshjitError: if some state can be neither read nor written under a trace.

    Example:
        >>> import jax.numpy as jnp
        >>> import freshjit
        >>> modulus = jnp.int32(10)
        >>> freshjit.associative_scan(lambda a, b: (a * b) % modulus, jnp.array([3, 4, 5, 3]))
        Array([3, 2, 0, 0], dtype=int32)
    """
    return _compiled(_associative_scan, fn, {"reverse": reverse, "axis": axis}, elems)


def _associative_scan(fn: Function, reverse: bool, axis: int) -> Function:
    return lambda elems: loops.associative_scan(fn, elems, reverse, axis)
