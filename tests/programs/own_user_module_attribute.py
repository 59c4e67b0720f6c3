"""Settings live in a module of their own, imported by name; attributes of that module are assigned and monkeypatched."""

import sys
import types

import jax.numpy as jnp


def install_settings():
    settings = types.ModuleType("own_program_settings")
    settings.GRAVITY = jnp.array(10.0)
    settings.MODE = "drop"
    settings.speed = lambda t: settings.GRAVITY * t
    sys.modules["own_program_settings"] = settings
    return settings


def program(jit):
    install_settings()
    import own_program_settings as cfg

    @jit
    def height(t):
        if cfg.MODE == "drop":
            return 100.0 - 0.5 * cfg.GRAVITY * t**2
        cfg.CALLS = getattr(cfg, "CALLS", 0) + 1
        return cfg.speed(t)

    t = jnp.array(2.0)
    seen = [float(height(t))]
    cfg.GRAVITY = jnp.array(1.6)
    seen.append(float(height(t)))
    cfg.MODE = "speed"
    seen.append(float(height(t)))
    cfg.speed = lambda t: -t
    seen += [float(height(t)), int(cfg.CALLS)]
    return seen
