"""A recurrent cell is unrolled by lax.scan with a body closure that reads weights and a gate flag from self."""

import jax
import jax.numpy as jnp


class Recurrent:
    def __init__(self):
        self.w = jnp.array(0.5)
        self.gate = {"on": True}
        self.h0 = jnp.array(0.0)

    def run(self, xs):
        def body(h, x):
            h = self.w * h + x
            if self.gate["on"]:
                h = jnp.tanh(h)
            return h, h * 2

        last, ys = jax.lax.scan(body, self.h0, xs)
        self.h0 = last
        return ys


def program(jit):
    cell = Recurrent()
    run = jit(cell.run)
    xs = jnp.array([1.0, 0.0, -1.0])
    seen = [run(xs).tolist(), run(xs).tolist()]
    cell.w = jnp.array(2.0)
    seen.append(run(xs).tolist())
    cell.gate["on"] = False
    seen.append(run(xs).tolist())
    cell.h0 = jnp.array(10.0)
    seen.append(run(xs[:2]).tolist())
    return seen, float(cell.h0)
