"""Functions under jit, custom_vjp, custom_vmap, custom_gradient… in each other; their state changes."""

import jax
import jax.numpy as jnp
import numpy as np

linear_call = jax.custom_derivatives.linear_call


class Settings:
    def __init__(self):
        self.rate, self.offset, self.calls = 2.0, jnp.float32(1.0), 0


settings = Settings()


def f(x):
    return settings.rate * x * x + settings.offset


def with_vjp(fun):
    custom = jax.custom_vjp(fun)
    custom.defvjp(lambda x: (fun(x), x), lambda x, g: (10 * settings.rate * g * x,))
    return custom


def with_jvp(fun):
    custom = jax.custom_jvp(fun)
    custom.defjvp(lambda primals, tangents: (fun(*primals), 100 * settings.rate * tangents[0]))
    return custom


def with_vmap(fun):
    custom = jax.custom_batching.custom_vmap(fun)
    custom.def_vmap(lambda size, batched, x: (size * settings.rate * x, batched[0]))
    return custom


SCALARS = {
    "jit of jit": jax.jit(jax.jit(f)),
    "jit of vjp": jax.jit(with_vjp(f)),
    "jit of jvp": jax.jit(with_jvp(f)),
    "jit of Partial of jit": jax.jit(jax.tree_util.Partial(jax.jit(f))),
    "vjp of jit": with_vjp(jax.jit(f)),
    "jvp of jit": with_jvp(jax.jit(f)),
    "vjp of jvp": with_vjp(with_jvp(f)),
    "gradient": jax.custom_gradient(lambda x: (f(x), lambda g: 7 * settings.rate * g)),
}
RULED, SEQUENTIAL = with_vmap(f), jax.custom_batching.sequential_vmap(f)
BOTH = with_vjp(with_vmap(f))
TABLED = np.vectorize(lambda a: 2 * a + float(settings.rate), otypes=[float])
UFUNC = jnp.frompyfunc(lambda a, b: settings.rate * a + b, 2, 1)


def program(jit):
    @jit
    def scalars(x):
        return {name: (g(x), jax.grad(g)(x)) for name, g in SCALARS.items()}

    @jit
    def vectors(xs):
        return (
            [jax.vmap(g)(xs) for g in (RULED, SEQUENTIAL, BOTH)],
            RULED(xs[0]),
            UFUNC(xs, xs),
            UFUNC.outer(xs, xs),
        )

    @jit
    def tabled(x):
        return x * TABLED(np.arange(2.0))

    @jit
    def ruled_later(x):
        return SCALARS["gradient"](x) + linear_call(
            lambda r, v: settings.rate * v, lambda r, v: r * settings.rate * v, 3.0, x
        )

    @jit
    def counted(x):
        def count(x):
            settings.calls += 1
            return x

        ruled = with_vmap(count)
        ruled.def_vmap(lambda size, batched, x: (count(x), batched[0]))
        return ruled(x)

    def look():
        jax.clear_caches()  # plain JAX keeps what jit has traced
        x, xs = jnp.float32(3.0), jnp.arange(3.0)
        values, ruled, added, outer = vectors(xs)
        return [
            {name: [float(v), float(g)] for name, (v, g) in scalars(x).items()},
            [v.tolist() for v in values],
            float(ruled),
            added.tolist(),
            outer.tolist(),
            tabled(x).tolist(),
            float(jax.grad(ruled_later)(x)),
            jax.vmap(jit(lambda x: RULED(x) + 1))(xs).tolist(),
        ]

    seen = [look()]
    for rate in (3.0, 4.0, jnp.float32(5.0)):
        settings.rate = rate
        seen.append(look())
    settings.offset = 0.5
    seen.append(look())
    counted(1.0)
    return {"seen": seen, "calls": settings.calls}
