"""The careful version of the factory passes the weights as an argument of the jitted function; nothing may get worse."""

import jax.numpy as jnp

WANT_COMPILES = 1


def program(jit):
    def make_layer():
        store = {"weights": jnp.array(2.0)}

        @jit
        def _mult(weights, x):
            return weights * x

        def mult(x):
            return _mult(store["weights"], x)

        def update(new):
            store["weights"] = new

        return mult, update

    mult, update = make_layer()
    again, update_again = make_layer()
    out = []
    for value in (2.0, 0.0, 2.0, 0.0):
        update(jnp.array(value))
        update_again(jnp.array(value + 1))
        out.append([float(mult(jnp.array(10.0))), float(again(jnp.array(10.0)))])
    return out
