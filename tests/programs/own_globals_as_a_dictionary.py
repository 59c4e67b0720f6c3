"""Globals read and changed through globals(), exec and eval."""

counter = 7
scale = 3.0


def program(jit):
    global scale
    seen = {}

    @jit
    def ensure(x):
        return globals().setdefault("counter", 0), globals().setdefault("fresh", x)

    seen["setdefault"] = [float(v) for v in ensure(1.0)] + [float(counter), float(globals()["fresh"])]

    @jit
    def take(x):
        return globals().pop("fresh"), globals().pop("never there", 5.0)

    seen["pop"] = [float(v) for v in take(2.0)] + ["fresh" in globals()]

    @jit
    def count(x):
        exec("global counter; counter += 1")
        return counter * x

    seen["exec"] = [float(count(1.0)), float(counter)]
    globals()["counter"] = 20
    seen["exec again"] = [float(count(1.0)), float(counter)]

    @jit
    def scaled(x):
        return eval("(lambda v: v * scale)(x)"), eval("[scale * i for i in range(2)]")[1]

    seen["eval"] = [float(v) for v in scaled(1.0)]
    scale = 5.0
    seen["eval after the change"] = [float(v) for v in scaled(1.0)]

    @jit
    def several(x):
        globals().update(counter=x)
        globals()["passing"] = x
        both = globals() | {"counter": 1.0}
        del globals()["passing"]
        return both["counter"], both["scale"], globals().copy()["counter"]

    seen["update"] = [float(v) for v in several(9.0)] + [float(counter), "passing" in globals()]
    return seen
