"""JAX's transforms, spelled as always, see and change state as the hand-written functional version does."""

import functools
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax, vmap
from tests.support import Compilations, contents, same

import freshjit
from freshjit import jit

X = jnp.array([0.5, 1.0, 2.0])


class Layer:
    def __init__(self, w):
        self.w = jnp.float32(w)

    def __call__(self, v):
        return self.w * v


class Part:
    pass


class Model:
    def __init__(self):
        self.w, self.n, self.key = jnp.float32(2.0), 3, jax.random.key(0)
        self.layers = [Layer(1.5), Layer(0.5)]
        self.part = Part()
        self.part.inner = Part()
        self.part.inner.mean = jnp.float32(1.0)

    def state(self):
        layers = [layer.w for layer in self.layers]
        rest = {"key": self.key, "layers": layers, "mean": self.part.inner.mean}
        return {"w": self.w, "n": jnp.int32(self.n), **rest}


# -- what the transformed function does with state: as a user writes it, and with the state passed along --


def reads(m, v, mix):
    return m.w * v**2


def reads_functional(s, v, mix):
    return s["w"] * v**2, s


def writes_array(m, v, mix):
    m.w = m.w * 0.5 + (jnp.mean(v) if mix else 1.0)
    return m.w * v**2


def writes_array_functional(s, v, mix):
    w = s["w"] * 0.5 + (jnp.mean(v) if mix else 1.0)
    return w * v**2, {**s, "w": w}


def writes_number(m, v, mix):
    m.n += 1
    return m.w * v**2 * m.n


def writes_number_functional(s, v, mix):
    n = s["n"] + 1
    return s["w"] * v**2 * n, {**s, "n": n}


def splits_key(m, v, mix):
    m.key, sub = jax.random.split(m.key)
    return m.w * v**2 + jax.random.normal(sub) * v


def splits_key_functional(s, v, mix):
    key, sub = jax.random.split(s["key"])
    return s["w"] * v**2 + jax.random.normal(sub) * v, {**s, "key": key}


def runs_layers(m, v, mix):
    for layer in m.layers:
        v = layer(v)
    m.layers[0].w = m.layers[0].w + 1
    return v**2


def runs_layers_functional(s, v, mix):
    first, second = s["layers"]
    return (second * (first * v)) ** 2, {**s, "layers": [first + 1, second]}


def writes_in_nested_object(m, v, mix):
    inner = m.part.inner
    inner.mean = 0.5 * inner.mean + 1
    return inner.mean * v**2


def writes_in_nested_object_functional(s, v, mix):
    mean = 0.5 * s["mean"] + 1
    return mean * v**2, {**s, "mean": mean}


KINDS = {
    "read array": (reads, reads_functional),
    "write array": (writes_array, writes_array_functional),
    "write number": (writes_number, writes_number_functional),
    "split key": (splits_key, splits_key_functional),
    "layers": (runs_layers, runs_layers_functional),
    "nested object": (writes_in_nested_object, writes_in_nested_object_functional),
}


# -- the transforms: with a plain function, and with one that takes and returns state -----------------


def total(step):
    def loss(s, v):
        out, s = step(s, v)
        return jnp.sum(out), s

    return loss


def grad(body, x):
    return jax.grad(lambda v: jnp.sum(body(v)))(x)


def grad_functional(step, s, x):
    return jax.grad(lambda v: total(step)(s, v), has_aux=True)(x)


def value_and_grad(body, x):
    return jax.value_and_grad(lambda v: jnp.sum(body(v)))(x)


def value_and_grad_functional(step, s, x):
    (value, s), gradient = jax.value_and_grad(lambda v: total(step)(s, v), has_aux=True)(x)
    return (value, gradient), s


def jacfwd(body, x):
    return jax.jacfwd(body)(x)


def jacfwd_functional(step, s, x):
    return jax.jacfwd(lambda v: step(s, v), has_aux=True)(x)


def jacrev(body, x):
    return jax.jacrev(body)(x)


def jacrev_functional(step, s, x):
    return jax.jacrev(lambda v: step(s, v), has_aux=True)(x)


def hessian(body, x):
    return jax.hessian(lambda v: jnp.sum(body(v)))(x)


def hessian_functional(step, s, x):
    inner = jax.jacrev(lambda v: total(step)(s, v), has_aux=True)
    return jax.jacfwd(inner, has_aux=True)(x)


def vjp(body, x):
    out, pull = jax.vjp(body, x)
    return out, pull(jnp.ones_like(out))


def vjp_functional(step, s, x):
    out, pull, s = jax.vjp(lambda v: step(s, v), x, has_aux=True)
    return (out, pull(jnp.ones_like(out))), s


def jvp(body, x):
    return jax.jvp(body, (x,), (jnp.ones_like(x),))


def jvp_functional(step, s, x):
    out, tangent, s = jax.jvp(lambda v: step(s, v), (x,), (jnp.ones_like(x),), has_aux=True)
    return (out, tangent), s


def linearize(body, x):
    out, linear = jax.linearize(body, x)
    return out, linear(jnp.ones_like(x))


def linearize_functional(step, s, x):
    out, linear, s = jax.linearize(lambda v: step(s, v), x, has_aux=True)
    return (out, linear(jnp.ones_like(x))), s


def mapped(body, x):
    return vmap(body)(x)


def mapped_functional(step, s, x):
    return jax.vmap(lambda v: step(s, v), out_axes=(0, None))(x)


def checkpoint(body, x):
    return jax.checkpoint(body)(x)


def checkpoint_functional(step, s, x):
    return step(s, x)


def grad_of_checkpoint(body, x):
    return jax.grad(lambda v: jnp.sum(jax.checkpoint(body)(v)))(x)


def scan(body, x):
    def f(carry, v):
        y = body(v)
        return carry + y, y

    return lax.scan(f, jnp.float32(0.0), x)


def scan_functional(step, s, x):
    def f(carry, v):
        carry, s = carry
        y, s = step(s, v)
        return (carry + y, s), y

    (carry, s), ys = jax.lax.scan(f, (jnp.float32(0.0), s), x)
    return (carry, ys), s


def fori_loop(body, x):
    return jax.lax.fori_loop(0, 3, lambda i, v: body(v) * 0.1, x)


def fori_loop_functional(step, s, x):
    for _ in range(3):
        x, s = step(s, x)
        x = x * 0.1
    return x, s


def while_loop(body, x):
    return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, body(c[1]) * 0.1), (0, x))


def while_loop_functional(step, s, x):
    x, s = fori_loop_functional(step, s, x)
    return (3, x), s


def cond_taken(body, x):
    return jax.lax.cond(x[0] < 100, body, lambda v: v * 10, x)


def cond_not_taken(body, x):
    return lax.cond(x[0] > 100, lambda v: body(v), lambda v: v * 10, x)


def cond_not_taken_functional(step, s, x):
    return x * 10, s


def switch(body, x):
    index = x[0].astype(jnp.int32) + 1
    return jax.lax.switch(index, [lambda v: v, body, lambda v: body(v) + body(v)], x)


def map_(body, x):
    return lax.map(body, x)


def map_functional(step, s, x):
    ys = []
    for v in x:
        y, s = step(s, v)
        ys.append(y)
    return jnp.stack(ys), s


TRANSFORMS = {
    "grad": (grad, grad_functional),
    "value_and_grad": (value_and_grad, value_and_grad_functional),
    "jacfwd": (jacfwd, jacfwd_functional),
    "jacrev": (jacrev, jacrev_functional),
    "hessian": (hessian, hessian_functional),
    "vjp": (vjp, vjp_functional),
    "jvp": (jvp, jvp_functional),
    "linearize": (linearize, linearize_functional),
    "vmap": (mapped, mapped_functional),
    "checkpoint": (checkpoint, checkpoint_functional),
    "grad of checkpoint": (grad_of_checkpoint, grad_functional),
    "scan": (scan, scan_functional),
    "fori_loop": (fori_loop, fori_loop_functional),
    "while_loop": (while_loop, while_loop_functional),
    "cond taken": (cond_taken, checkpoint_functional),
    "cond not taken": (cond_not_taken, cond_not_taken_functional),
    "switch": (switch, checkpoint_functional),
    "map": (map_, map_functional),
}


def agrees(fast, model, reference, x, calls=2):
    """Call and compare results and state, with an edit of the state between the calls."""
    for i in range(calls):
        wanted, state = reference(model.state(), x)
        same(fast(x), wanted)
        same(model.state(), state)
        model.w = model.w * 0.25 + i
        model.layers[1].w = jnp.float32(0.25 + i)
        x = x * 1.5
    return True


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS.keys())
def test_transform_inside_a_jitted_function(transform, kind):
    (plain, functional), (body, step) = transform, kind
    mix = plain is not mapped  # what is written inside vmap must not differ along the mapped axis
    model = Model()
    fast = jit(lambda x: plain(lambda v: body(model, v, mix), x))
    x = jnp.array([0.25, 0.5, 0.6]) if plain is switch else X
    agrees(fast, model, lambda s, v: functional(lambda t, u: step(t, u, mix), s, v), x)


OUTSIDE = {
    "grad": (lambda f: jax.grad(lambda v: jnp.sum(f(v))), grad_functional),
    "value_and_grad": (lambda f: jax.value_and_grad(lambda v: jnp.sum(f(v))), value_and_grad_functional),
    "jacfwd": (jax.jacfwd, jacfwd_functional),
    "jacrev": (jax.jacrev, jacrev_functional),
    "hessian": (lambda f: jax.hessian(lambda v: jnp.sum(f(v))), hessian_functional),
    "vmap": (vmap, mapped_functional),
    "checkpoint": (jax.checkpoint, checkpoint_functional),
    "grad of checkpoint": (lambda f: jax.grad(lambda v: jnp.sum(jax.checkpoint(f)(v))), grad_functional),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("transform", OUTSIDE.values(), ids=OUTSIDE.keys())
def test_transform_made_outside(transform, kind):
    """`jit(jax.grad(f))`: the transform has been applied before freshjit sees the function."""
    (made, functional), (body, step) = transform, kind
    mix = made is not vmap
    model = Model()
    transformed = made(lambda v: body(model, v, mix))
    agrees(jit(transformed), model, lambda s, v: functional(lambda t, u: step(t, u, mix), s, v), X)


def spelled_freshjit(function):
    """The same function, with freshjit's transforms wherever it says ``jax``, ``lax`` or ``vmap``."""
    as_jax = types.SimpleNamespace(**vars(freshjit), lax=freshjit)
    names = {**globals(), "jax": as_jax, "lax": freshjit, "vmap": freshjit.vmap}
    return types.FunctionType(function.__code__, names, function.__name__)


def shard_map(body, x):
    return jax.shard_map(body, mesh=MESH, in_specs=P("d"), out_specs=P("d"))(x)


def custom_jvp(body, x):
    """Differentiated, so that the rule runs in place of the function."""
    f = plain_jax.custom_jvp(body)
    f.defjvp(lambda primals, tangents: (body(*primals), tangents[0] * 3))
    return jax.grad(lambda v: jnp.sum(f(v)))(x)


def custom_jvp_functional(step, s, x):
    return jnp.full_like(x, 3), step(s, x)[1]


def custom_vjp(body, x):
    f = plain_jax.custom_vjp(body)
    f.defvjp(lambda v: (body(v), None), lambda _, ct: (ct * 3,))
    return jax.grad(lambda v: jnp.sum(f(v)))(x)


def custom_vjp_undifferentiated(body, x):
    f = plain_jax.custom_vjp(body)
    f.defvjp(lambda v: (body(v), None), lambda _, ct: (ct * 3,))
    return jax.checkpoint(lambda v: f(v))(x)


def eval_shape(body, x):
    return jax.eval_shape(body, x).shape[0] * jnp.float32(1)


def eval_shape_functional(step, s, x):
    return jnp.float32(3), s


def gradient_of_a_vmapped_scan(body, x):
    def run(v):
        return jax.lax.scan(lambda c, u: (c + jnp.sum(body(v)) * u, None), jnp.float32(0), X)[0]

    return jax.grad(lambda v: jnp.sum(vmap(run)(v)))(x)


def gradient_of_a_vmapped_scan_functional(step, s, x):
    def run(v):
        def f(carry, u):
            carry, s = carry
            y, s = step(s, v)
            return (carry + jnp.sum(y) * u, s), None

        return jax.lax.scan(f, (jnp.float32(0), s), X)[0]

    def loss(v):
        out, s = jax.vmap(run, out_axes=(0, None))(v)
        return jnp.sum(out), s

    return jax.grad(loss, has_aux=True)(x)


MESH, P, plain_jax = jax.sharding.Mesh(jax.devices()[:1], ("d",)), jax.sharding.PartitionSpec, jax

MORE = {
    "shard_map": (shard_map, checkpoint_functional),
    "custom_jvp": (custom_jvp, custom_jvp_functional),
    "custom_vjp": (custom_vjp, custom_jvp_functional),
    "custom_vjp undifferentiated": (custom_vjp_undifferentiated, checkpoint_functional),
    "eval_shape": (eval_shape, eval_shape_functional),
    "gradient of a vmapped scan": (gradient_of_a_vmapped_scan, gradient_of_a_vmapped_scan_functional),
}
UNMIXED = (mapped, shard_map, gradient_of_a_vmapped_scan)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("transform", MORE.values(), ids=MORE.keys())
def test_more_transforms_inside_a_jitted_function(transform, kind):
    (plain, functional), (body, step) = transform, kind
    mix = plain not in UNMIXED
    model = Model()
    fast = jit(lambda x: plain(lambda v: body(model, v, mix), x))
    agrees(fast, model, lambda s, v: functional(lambda t, u: step(t, u, mix), s, v), X)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("transform", {**TRANSFORMS, **MORE}.values(), ids={**TRANSFORMS, **MORE}.keys())
def test_freshjit_transform_outside_any_jitted_function(transform, kind):
    (plain, functional), (body, step) = transform, kind
    mix = plain not in UNMIXED
    model = Model()
    run = spelled_freshjit(plain)
    x = jnp.array([0.25, 0.5, 0.6]) if plain is switch else X

    def reference(s, v):
        return functional(lambda t, u: step(t, u, mix), s, v)

    agrees(lambda x: run(lambda v: body(model, v, mix), x), model, reference, x)


@pytest.mark.parametrize("transform", {**TRANSFORMS, **MORE}.values(), ids={**TRANSFORMS, **MORE}.keys())
def test_freshjit_transform_inside_a_jitted_function(transform):
    plain, functional = transform
    mix = plain not in UNMIXED
    model = Model()
    run = spelled_freshjit(plain)
    fast = jit(lambda x: run(functools.partial(writes_array, model, mix=mix), x))
    x = jnp.array([0.25, 0.5, 0.6]) if plain is switch else X

    def reference(s, v):
        return functional(lambda t, u: writes_array_functional(t, u, mix), s, v)

    agrees(fast, model, reference, x)


@pytest.mark.parametrize("transform", OUTSIDE.values(), ids=OUTSIDE.keys())
def test_transform_made_outside_and_used_inside(transform):
    made, functional = transform
    mix = made is not vmap
    model = Model()
    transformed = made(lambda v: writes_array(model, v, mix))

    def reference(s, v):
        return functional(lambda t, u: writes_array_functional(t, u, mix), s, v)

    agrees(jit(lambda x: transformed(x)), model, reference, X)


@pytest.mark.leaks
def test_gradient_of_a_method_that_counts_leaves_no_tracer():
    model = Model()
    fast = jit(lambda x: grad(lambda v: writes_array(model, v, True) + writes_number(model, v, True), x))
    fast(X)
    contents(model)
    assert model.n == 4


@pytest.mark.leaks
def test_scan_that_writes_leaves_no_tracer():
    model = Model()
    jit(lambda x: scan(lambda v: splits_key(model, v, True), x))(X)
    contents(model)


# -- options and combinations -----------------------------------------------------------------------


def test_argnums_and_aux():
    model = Model()

    def loss(a, b):
        model.n += 1
        return jnp.sum(model.w * a * b), {"a": a, "n": model.n}

    fast = jit(lambda a, b: jax.grad(loss, argnums=(0, 1), has_aux=True)(a, b))
    (da, db), aux = fast(X, X + 1)
    same((da, db), (2 * (X + 1), 2 * X))
    same(aux["a"], X)
    assert int(aux["n"]) == 4
    assert model.n == 4


def test_gradient_with_respect_to_state_passed_as_an_argument():
    model = Model()

    def loss(w):
        model.w = w
        return jnp.sum(reads(model, X, True))

    @jit
    def step():
        old = model.w
        gradient = jax.grad(loss)(old)
        model.w = old - 0.1 * gradient
        return gradient

    expected = float(jnp.sum(X**2))
    for i in range(3):
        assert float(step()) == pytest.approx(expected)
        assert float(model.w) == pytest.approx(2.0 - 0.1 * expected * (i + 1))


def test_gradient_through_state_written_before():
    """A captured object written outside the transform and read inside takes part as a constant."""
    model = Model()

    @jit
    def f(x):
        model.w = x * 3
        return jax.grad(lambda v: v * model.w)(x)

    assert float(f(2.0)) == 6.0


def test_second_order_gradients_with_state():
    model = Model()

    def f(v):
        model.n += 1
        return model.w * v**3

    assert float(jit(lambda x: jax.grad(jax.grad(f))(x))(2.0)) == pytest.approx(24.0)
    assert model.n == 4


def test_vmap_of_grad_and_grad_of_vmap():
    model = Model()
    fast = jit(
        lambda x: (
            jax.vmap(jax.grad(lambda v: model.w * v**2))(x),
            grad(lambda v: vmap(lambda u: model.w * u**2)(v), x),
        )
    )
    for w in (2.0, 5.0):
        model.w = jnp.float32(w)
        first, second = fast(X)
        same(first, 2 * w * X)
        same(second, 2 * w * X)


def test_vmap_over_axes_and_keywords():
    model = Model()
    matrix = jnp.arange(6.0).reshape(2, 3)

    def affine(v, k, *, shift=0.0):
        return model.w * v * k + shift

    fast = jit(lambda a, k: vmap(affine, in_axes=(1, None), out_axes=1)(a, k))
    same(fast(matrix, 3.0), matrix * 6)


def test_vmap_with_an_axis_name():
    model = Model()
    fast = jit(lambda x: vmap(lambda v: v - lax.pmean(v, "batch") * model.w, axis_name="batch")(x))
    same(fast(X), X - jnp.mean(X) * 2)


def test_scan_over_the_steps_of_a_model_with_everything():
    model = Model()

    def step(carry, v):
        out = splits_key(model, runs_layers(model, v, True), True) + writes_number(model, v, True)
        return carry + out, out

    def functional(s, x):
        carry, ys = jnp.float32(0.0), []
        for v in x:
            a, s = runs_layers_functional(s, v, True)
            b, s = splits_key_functional(s, a, True)
            c, s = writes_number_functional(s, v, True)
            carry = carry + b + c
            ys.append(b + c)
        return (carry, jnp.stack(ys)), s

    agrees(jit(lambda x: lax.scan(step, jnp.float32(0.0), x)), model, functional, X)


def test_nested_loops():
    model = Model()

    def inner(i, v):
        model.w = model.w + 1
        return v + model.w

    def outer(carry, v):
        model.n += 1
        return lax.fori_loop(0, 2, inner, carry) + v, None

    def functional(s, x):
        carry, w, n = jnp.float32(0.0), s["w"], s["n"]
        for v in x:
            n = n + 1
            for _ in range(2):
                w = w + 1
                carry = carry + w
            carry = carry + v
        return carry, {**s, "w": w, "n": n}

    agrees(jit(lambda x: lax.scan(outer, jnp.float32(0.0), x)[0]), model, functional, X)


def test_gradient_through_a_scan_that_writes():
    model = Model()

    def f(v):
        def body(carry, _):
            model.w = model.w * 0.5
            return carry * model.w, None

        return lax.scan(body, v, None, length=2)[0]

    assert float(jit(lambda x: jax.grad(f)(x))(3.0)) == pytest.approx(0.5)
    assert float(model.w) == pytest.approx(0.5)


def test_scan_backwards_and_unrolled():
    model = Model()

    def body(carry, v):
        model.w = model.w + v
        return carry, model.w

    fast = jit(lambda x: lax.scan(body, 0.0, x, reverse=True, unroll=2)[1])
    w, wanted = 2.0, []
    for v in reversed(X.tolist()):
        w += v
        wanted.append(w)
    same(fast(X), jnp.array(wanted[::-1]))
    assert float(model.w) == pytest.approx(w)


def looped_by_scan(body, x):
    return lax.scan(lambda c, t: (c, body(t)), 0.0, x)[1]


def looped_by_fori_loop(body, x):
    return lax.fori_loop(0, 3, lambda i, c: c + body(x[i]), 0.0)


def branched_by_cond(body, x):
    return lax.cond(x[0] > 0, body, lambda v: v, x[0])


@pytest.mark.parametrize("transform", [looped_by_scan, looped_by_fori_loop, branched_by_cond])
def test_python_values_that_a_body_only_hands_on_stay_what_they_are(transform):
    """A tuple of an array and a number is written anew in each round; only the array differs."""

    def make():
        box = Part()
        box.both, box.named = (jnp.float32(1.0), 3), {"rate": 0.5, "note": "text", "w": jnp.zeros(())}
        box.on, box.off = True, None
        return box

    def run(box, x):
        def body(v):
            box.both = (box.both[0] + v * box.both[1], box.both[1])
            box.named = {**box.named, "w": box.named["w"] + box.named["rate"]}
            box.on, box.off = True, None
            return v * box.both[0]

        return transform(body, x)

    box = make()
    jitted = jit(lambda x: run(box, x))
    programs_before = jitted._cache_size()
    for number in (3, 4, 5, 6):
        box.both = (jnp.float32(1.0), number)
        box.named["rate"] = number / 8
        rounds = 1 if transform is branched_by_cond else 3
        w = box.named["w"] + rounds * number / 8
        jitted(X)
        assert box.both[1] == number
        assert type(box.both[1]) is int
        assert (box.named["rate"], box.named["note"]) == (number / 8, "text")
        assert same(box.named["w"], w)
        assert same(box.both[0], 1.0 + number * X[:rounds].sum())
        assert (box.on, box.off) == (True, None)
    assert jitted._cache_size() - programs_before <= 2


@pytest.mark.parametrize("transform", [looped_by_scan, looped_by_fori_loop, branched_by_cond])
def test_closure_variable_that_a_body_assigns(transform):
    total = jnp.float32(1.0)

    def body(v):
        nonlocal total
        total = total + v
        return v * total

    def plainly(x):
        nonlocal total
        if transform is branched_by_cond:
            return body(x[0])
        values = [body(v) for v in x]
        return sum(values) if transform is looped_by_fori_loop else jnp.stack(values)

    wanted, after = plainly(X), total
    total = jnp.float32(1.0)
    assert same(jit(lambda x: transform(body, x))(X), wanted)
    assert same(total, after)


def test_loop_with_a_traced_number_of_rounds():
    model = Model()

    def body(i, v):
        model.n += 1
        return v + i

    fast = jit(lambda n: lax.fori_loop(0, n, body, 0))
    assert int(fast(4)) == 6
    assert int(model.n) == 7
    assert int(fast(2)) == 1
    assert int(model.n) == 9


def test_condition_of_a_while_loop_reads_what_the_body_writes():
    model = Model()

    def body(v):
        model.w = model.w * 2
        return v + 1

    fast = jit(lambda: lax.while_loop(lambda v: model.w < 20, body, 0))
    assert int(fast()) == 4
    assert float(model.w) == 32.0
    model.w = jnp.float32(6.0)
    assert int(fast()) == 2


def test_branches_that_write_different_things():
    model = Model()

    def first(v):
        model.w = model.w + v
        return v

    def second(v):
        model.n += 10
        return -v

    fast = jit(lambda x: lax.cond(x > 0, first, second, x))
    assert float(fast(1.0)) == 1.0
    assert (float(model.w), int(model.n)) == (3.0, 3)
    assert float(fast(-1.0)) == 1.0
    assert (float(model.w), int(model.n)) == (3.0, 13)


def test_cond_on_a_python_flag_of_the_state():
    model = Model()
    model.flag = True
    fast = jit(lambda x: lax.cond(model.flag, lambda v: v, lambda v: -v, x))
    assert float(fast(1.0)) == 1.0
    model.flag = False
    assert float(fast(1.0)) == -1.0


def test_bound_methods_and_jitted_methods_as_bodies():
    class Counter:
        def __init__(self):
            self.w = jnp.float32(1.0)

        def plain(self, carry, x):
            self.w = self.w + x
            return carry + self.w, self.w

        @jit
        def fast(self, carry, x):
            self.w = self.w + x
            return carry + self.w, self.w

    for name in ("plain", "fast"):
        counter = Counter()
        out, ys = jit(lambda x: lax.scan(getattr(counter, name), 0.0, x))(X)
        assert ys.tolist() == [1.5, 2.5, 4.5]
        assert float(out) == 8.5
        assert float(counter.w) == 4.5


def test_list_element_and_global_written_in_a_transform():
    global LEVEL
    LEVEL = jnp.float32(1.0)
    items = [jnp.float32(0.0)]
    total_ = jnp.float32(0.0)

    def loss(v):
        global LEVEL
        nonlocal total_
        LEVEL = LEVEL + 1
        items[0] = items[0] + v
        total_ = total_ + LEVEL
        return v**2

    fast = jit(lambda x: jax.grad(loss)(x))
    assert float(fast(3.0)) == 6.0
    assert float(fast(1.0)) == 2.0
    assert (float(LEVEL), float(items[0]), float(total_)) == (3.0, 4.0, 5.0)


LEVEL = None


def test_global_deleted_in_a_loop_and_in_a_function_called_there():
    def drop():
        global to_delete
        del to_delete

    def body(carry, x):
        global to_delete
        drop()
        to_delete = x
        return carry + to_delete, None

    @jit
    def loop(xs):
        return jax.lax.scan(body, 0.0, xs)[0]

    for start in map(jnp.float32, (1.0, 5.0)):
        globals()["to_delete"] = start
        assert float(loop(jnp.array([1.0, 2.0]))) == 3.0
        assert float(globals()["to_delete"]) == 2.0


def test_attributes_that_are_items_are_carried_through_a_loop():
    class Config(dict):
        def __init__(self, **items):
            super().__init__(items)
            self.__dict__ = self

    config = Config(total=jnp.float32(1.0))

    @jit
    def loop(xs):
        def body(carry, x):
            config.total = config["total"] + x
            config["last"] = config.total * carry
            return carry + config.last, config.total

        config.last = jnp.float32(0.0)
        return jax.lax.scan(body, 1.0, xs)[1]

    assert loop(jnp.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert (float(config.total), float(config["last"]), list(config)) == (4.0, 12.0, ["total", "last"])
    config["total"] = jnp.float32(10.0)
    assert loop(jnp.array([1.0, 2.0])).tolist() == [11.0, 13.0]
    assert float(config.total) == 13.0


def test_callback_that_is_told_a_sharding_runs_on_the_real_thing():
    seen = []
    model = Model()

    @jit
    def f(x):
        y = x * 2
        jax.debug.inspect_array_sharding(y, callback=lambda sharding: seen.append((sharding, model)))
        return y

    assert float(f(1.0)) == 2.0
    assert isinstance(seen[0][0], jax.sharding.Sharding)
    assert seen[0][1] is model


def test_callback_inside_a_jitted_function_runs_on_the_real_thing():
    seen = []
    model = Model()

    def note(x):
        seen.append((float(x), model.n))

    @jit
    def f(x):
        jax.debug.callback(note, x)
        return x

    f(1.0).block_until_ready()
    jax.effects_barrier()
    model.n = 8
    f(2.0).block_until_ready()
    jax.effects_barrier()
    assert seen == [(1.0, 3), (2.0, 8)]


def test_custom_derivatives_read_state():
    model = Model()

    @jax.custom_jvp
    def f(x):
        return x * model.w

    @f.defjvp
    def f_jvp(primals, tangents):
        return f(primals[0]), tangents[0] * model.w * 10

    fast = jit(lambda x: jax.value_and_grad(f)(x))
    for w in (2.0, 3.0):
        model.w = jnp.float32(w)
        same(fast(1.0), (w, w * 10))


def test_associative_scan_reads_state():
    model = Model()
    fast = jit(lambda x: lax.associative_scan(lambda a, b: a + b * model.w / model.w, x))
    same(fast(X), jnp.cumsum(X))


def test_transform_of_reading_state_compiles_once():
    model = Model()

    def compiled_gradient(x):
        return jax.grad(lambda v: jnp.sum(reads(model, v, True)))(x)

    fast = jit(compiled_gradient)
    compiled = Compilations("compiled_gradient")
    for w in range(5):
        model.w = jnp.float32(w)
        same(fast(X), 2 * w * X)
    assert compiled.count == 1


def test_inner_trace_caches_of_jax_do_not_make_state_stale():
    """One function object used as a body in two jitted functions, with the state changed in between."""
    model = Model()
    model.scale = 2.0

    def body(carry, v):
        return carry + v * model.scale, None

    first = jit(lambda x: lax.scan(body, 0.0, x)[0])
    second = jit(lambda x: lax.scan(body, 0.0, x)[0] + 0)
    same(first(X), 7.0)
    model.scale = 3.0
    same(second(X), 10.5)
    same(first(X), 10.5)


# -- rules of custom derivatives, run by JAX after the capture ------------------------------------------


def with_jvp_rule(model):
    @jax.custom_jvp
    def f(x):
        return model.w * x

    f.defjvp(lambda primals, tangents: (f(*primals), model.w * tangents[0]))
    return f


def with_vjp_rule(model):
    @jax.custom_vjp
    def f(x):
        return model.w * x

    f.defvjp(lambda x: (f(x), None), lambda _, ct: (model.w * ct,))
    return f


@pytest.mark.parametrize("made", [with_jvp_rule, with_vjp_rule])
def test_a_rule_reads_live_state_when_jax_differentiates_from_outside(made):
    model = Model()
    f = made(model)
    fast = jit(lambda x: f(x))
    for w in (2.0, 5.0, 7.0):
        model.w = jnp.float32(w)
        assert float(fast(3.0)) == 3 * w
        assert float(jax.grad(fast)(3.0)) == w
        assert float(freshjit.grad(fast)(3.0)) == w


@jax.custom_jvp
def plain_sine(x):
    return jnp.sin(x)


plain_sine.defjvp(lambda primals, tangents: (jnp.sin(primals[0]), jnp.cos(primals[0]) * tangents[0]))


def test_a_rule_that_reads_nothing_leaves_the_function_compiled_under_outer_transforms():
    fast = jit(lambda x: plain_sine(x))
    for x in (1.0, 2.0, 3.0):
        assert float(jax.grad(fast)(x)) == pytest.approx(float(jnp.cos(x)))
    assert fast._cache_size() == 1


# -- JAX's own ways of giving options --------------------------------------------------------------------

BY_POSITION = {
    "scan": lambda f: jax.lax.scan(lambda c, x: (f(c) + x, c), 0.0, jnp.arange(3.0), None, True)[1],
    "grad": lambda f: jax.grad(lambda x: f(x).sum(), 0, False, False)(jnp.ones(2)),
    "value_and_grad": lambda f: jax.value_and_grad(lambda x: f(x).sum(), 0, False, False, False)(jnp.ones(2)),
    "jacfwd": lambda f: jax.jacfwd(f, 0, False, False)(jnp.ones(2)),
    "jacrev": lambda f: jax.jacrev(f, 0, False, False, False)(jnp.ones(2)),
    "hessian": lambda f: jax.hessian(lambda x: f(x).sum(), 0, False, False)(jnp.ones(2)),
    "vmap": lambda f: jax.vmap(f, 0, 0, "i", None)(jnp.ones(2)),
    "make_jaxpr": lambda f: jax.make_jaxpr(f, (), None, True)(jnp.ones(2))[1].shape,
    "associative_scan": lambda f: jax.lax.associative_scan(lambda a, b: f(a) + b, jnp.arange(4.0), True, 0),
}


@pytest.mark.parametrize("call", BY_POSITION.values(), ids=BY_POSITION)
def test_options_may_be_given_by_position_as_in_jax(call):
    scale = jnp.float32(3.0)

    def f(x):
        return scale * x * x

    wanted, found = call(f), jit(lambda: call(f))()
    jax.tree.map(np.testing.assert_allclose, found, wanted)


# -- how places are called ------------------------------------------------------------------------------


class Norm:
    def __init__(self):
        self.mean = jnp.float32(0.0)

    def plain(self, x):
        self.mean = x
        return x - self.mean

    @jit
    def jitted(self, x):
        return self.plain(x)


MAPPED = {
    "a method": lambda n, axes: freshjit.vmap(n.plain, state_axes=axes),
    "a jitted method": lambda n, axes: freshjit.vmap(n.jitted, state_axes=axes),
    "a method that is jitted": lambda n, axes: freshjit.vmap(jit(n.plain), state_axes=axes),
    "jitted as a whole": lambda n, axes: jit(freshjit.vmap(n.plain, state_axes=axes)),
    "inside a jitted function": lambda n, axes: jit(lambda x: freshjit.vmap(n.plain, state_axes=axes)(x)),
    "a jitted method inside": lambda n, axes: jit(lambda x: freshjit.vmap(n.jitted, state_axes=axes)(x)),
}


@pytest.mark.parametrize("mapped", MAPPED.values(), ids=MAPPED.keys())
def test_self_is_the_object_of_the_method_that_is_mapped_however_it_is_called(mapped):
    norm = Norm()
    mapped(norm, {"self.mean": "mean"})(jnp.arange(3.0))
    assert norm.mean == 1.0


def test_what_a_method_that_is_jitted_reads_is_called_as_in_the_method():
    norm = Norm()
    for function in (norm.plain, norm.jitted, jit(norm.plain), jit(jit(norm.plain), keep_unused=True)):
        assert list(freshjit.functionalize(function).read(1.0)) == ["self.mean"]


def test_the_error_says_which_key_of_state_axes_is_missing():
    norm = Norm()
    with pytest.raises(freshjit.LeakedWriteError, match=r"state_axes=\{'self.mean': 'mean'\}"):
        freshjit.vmap(norm.plain)(jnp.arange(3.0))
    with pytest.raises(freshjit.LeakedWriteError, match=r"state_axes=\{'self.mean': 'mean'\}"):
        jax.vmap(norm.jitted)(jnp.arange(3.0))
