"""Errors that are kept: what they hold is read, they are raised again, and they get causes and contexts."""

import jax.numpy as jnp


class Failed(Exception):
    pass


class Settings:
    rate = 2


def name(error):
    return None if error is None else [type(error).__name__, [str(a) for a in error.args]]


def program(jit):
    settings = Settings()
    own, builtin, cause = Failed("own"), ValueError("text", 3), KeyError("cause")
    carrier = RuntimeError(settings)

    @jit
    def raise_again(x):
        try:
            raise own from cause
        except Failed as error:
            same = error is own, error.__cause__ is cause
        try:
            try:
                raise KeyError("first")
            except KeyError:
                raise builtin  # noqa: B904
        except ValueError as error:
            return same, error is builtin, name(error.__context__), error.args, x

    @jit
    def look(x):
        causes = own.__cause__ is cause, name(own.__cause__), name(builtin.__cause__)
        return x * carrier.args[0].rate, causes, own.__suppress_context__, builtin.args, str(builtin)

    seen = []
    for i in range(6):
        x, *rest = look(jnp.float32(2.0))
        seen += [float(x), str(rest)]
        if i != 3:
            same, again, context, args, _ = raise_again(jnp.float32(1.0))
            seen += [same, again, context, list(args)]
            seen += [own.__cause__ is cause, own.__suppress_context__, name(builtin.__context__)]
        if i == 0:
            own.__cause__ = None
            settings.rate = 3
        if i == 1:
            own.__cause__ = builtin
            builtin.args = ("other",)
        if i == 2:
            builtin.__cause__ = KeyError("new")
            settings.rate = jnp.float32(4.0)
        if i == 3:
            own, cause = Failed("another", 1), KeyError("another cause")
        if i == 4:
            carrier.args = (Settings(),)
    return seen
