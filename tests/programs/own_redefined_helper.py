"""Notebook style: cells are executed into one namespace, and a helper is defined again after the jitted function ran."""

import jax.numpy as jnp


def program(jit):
    notebook = {"jit": jit, "jnp": jnp, "__name__": "notebook"}

    def cell(text):
        exec(compile(text, "<cell>", "exec"), notebook)

    cell("scale = jnp.array(2.0)\ndef helper(x):\n    return scale * x\n")
    cell("@jit\ndef main(x):\n    return helper(x) + helper(1.0)\n")
    x = jnp.array(3.0)
    seen = [float(notebook["main"](x))]
    cell("def helper(x):\n    return scale * x + 100.0\n")
    seen.append(float(notebook["main"](x)))
    cell("scale = jnp.array(0.5)\n")
    seen.append(float(notebook["main"](x)))
    old = notebook["main"]
    cell("@jit\ndef main(x):\n    return -helper(x)\n")
    seen += [float(notebook["main"](x)), float(old(x))]
    cell("helper = jnp.sqrt\n")
    return seen + [float(old(jnp.array(16.0)))]
