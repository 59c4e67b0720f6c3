"""A jitted function changes what other functions carry: defaults, documentation, annotations, attributes."""


def helper(y=1.0, *, z=2.0):
    return y * z


def other(a):
    return a


def program(jit):
    @jit
    def change(x):
        helper.__defaults__ = (x,)
        helper.__doc__ = "new"
        helper.__annotations__["q"] = x
        helper.__kwdefaults__["z"] = x
        helper.__name__ = "renamed"
        helper.mark = x
        other.__annotations__ = {"w": x}
        return helper()

    def now():
        return [
            float(helper.__defaults__[0]),
            float(helper.__annotations__["q"]),
            float(helper.__kwdefaults__["z"]),
            float(helper.mark),
            float(other.__annotations__["w"]),
            helper.__doc__,
            helper.__name__,
        ]

    seen = [float(change(3.0)), now(), float(change(4.0)), now(), float(helper())]
    helper.__defaults__ = (10.0,)
    seen.append(float(helper()))
    return {"seen": seen}
