"""An nnx.Optimizer updates its model inside a jitted step."""

from flax import nnx
import jax
import jax.numpy as jnp
import optax


def program(jit):
    m = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
    opt = nnx.Optimizer(m, optax.adam(0.1), wrt=nnx.Param)
    met = nnx.metrics.Average()

    @jit
    def step(x):
        l, g = nnx.value_and_grad(lambda mm: jnp.mean(mm(x) ** 2))(m)
        opt.update(m, g)
        met.update(values=l)
        return l

    x = jnp.ones((2, 2))
    out = [float(step(x)) for _ in range(3)]
    out.append(float(met.compute()))
    met.reset()
    m.kernel.value = jnp.ones((2, 1))
    out.append(float(step(x)))
    return out + [float(met.compute()), int(opt.step.value)]
