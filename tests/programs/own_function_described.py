"""The name, documentation, annotations, defaults and dictionary of a function: read inside, changed outside."""


def helper(y=1.0, *, z: int = 1):
    """Short."""
    return y * z


def program(jit):
    @jit
    def read(x):
        words = len(helper.__name__) * len(helper.__doc__) * len(helper.__annotations__)
        return x * words * (1 + len(helper.__dict__)) * helper.__defaults__[0] * helper.__kwdefaults__["z"]

    @jit
    def asked(x):
        return x * len(getattr(helper, "__name__")) * (1 + len(vars(helper)))

    def both():
        seen.append([float(read(1.0)), float(asked(1.0))])

    seen = []
    both()
    helper.__name__ = "another"
    both()
    helper.__doc__ = "A longer one."
    both()
    helper.__annotations__["y"] = float
    both()
    helper.mark = 1
    both()
    helper.__defaults__ = (7.0,)
    both()
    helper.__kwdefaults__["z"] = 9
    both()
    return {"seen": seen}
