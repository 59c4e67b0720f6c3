"""Inner functions refer to names that the outer function only fills in after jit was applied."""

import jax.numpy as jnp


def program(jit):
    def build(kind):
        @jit
        def forward(x):
            return activation(x) * gain

        @jit
        def ready():
            try:
                gain
            except NameError:
                return "no gain yet"
            return "ready"

        states = [ready()]
        if kind == "double":

            def activation(x):
                return 2 * x
        else:
            activation = jnp.abs
        gain = jnp.array(3.0)
        states.append(ready())
        first = forward(jnp.array(-2.0))
        gain = jnp.array(-1.0)
        second = forward(jnp.array(-2.0))
        del gain
        states.append(ready())
        return states, float(first), float(second)

    return build("double"), build("abs")
