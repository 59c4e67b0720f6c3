"""Objects made inside, of classes with a ``__setattr__`` and ``__getattribute__`` of their own."""


class Doubling:
    def __init__(self):
        self.v = 1.0

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2)

    def __getattribute__(self, name):
        found = object.__getattribute__(self, name)
        return found if name.startswith("_") else found + 100

    def __delattr__(self, name):
        object.__setattr__(self, f"had_{name}", 1.0)
        object.__delattr__(self, name)


class Heir(Doubling):
    pass


def program(jit):
    kept = Heir()

    @jit
    def f(x):
        new = Heir()
        new.w, new.gone = 3.0, 4.0
        del new.gone
        kept.q = x
        kept.made = 1.0
        return new.v, new.w, new.had_gone, hasattr(new, "gone"), kept.v, kept.q

    return [[float(v) for v in f(x)] for x in (1.0, 2.0)], sorted(vars(kept))
