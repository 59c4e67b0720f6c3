"""A slot that is not set, of a class whose ``__getattr__`` has an answer for any name; ``del obj.__dict__``."""


class Sparse:
    __slots__ = ("__dict__", "rate")

    def __getattr__(self, name):
        return 7.0


class Plain:
    __slots__ = ("rate",)


def delete(thing, name):
    try:
        delattr(thing, name)
    except AttributeError as error:
        return type(error).__name__
    return "deleted"


def program(jit):
    sparse, plain = Sparse(), Plain()
    step = jit(lambda x: x * sparse.rate)
    remove = jit(lambda x: (x, delete(sparse, "rate"), delete(plain, "rate"), delete(plain, "nothing")))

    @jit
    def forget(x):
        del sparse.__dict__
        sparse.kept = x
        return x

    seen = [float(step(1.0)), remove(1.0)[1:]]
    sparse.rate, plain.rate = 2.0, 3.0
    seen += [float(step(1.0)), remove(1.0)[1:], remove(1.0)[1:], float(step(1.0))]
    for _ in range(2):
        sparse.a, sparse.b = 1, 2
        forget(1.0)
        seen.append(list(vars(sparse)))
    return {"seen": seen, "rate": sparse.rate}


WANT_COMPILES = 5
