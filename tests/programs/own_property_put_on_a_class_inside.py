"""A property is put on a class inside, and taken off; objects that are made inside follow it as well."""

TWICE = property(lambda self: self._p * 2, lambda self, value: self.__dict__.update(_p=value + 1))
FIXED = property(lambda self: 7.0)


def set_and_read(jit):
    class Thing:
        pass

    thing = Thing()

    @jit
    def step(x):
        Thing.p = TWICE
        thing.p = x
        new = Thing()
        new.p = x * 5
        return thing.p + 100 * new.p

    seen = [float(step(1.0)), float(step(2.0))]
    return [*seen, sorted(vars(thing)), float(thing.p), Thing.p is TWICE]


def without_a_setter(jit):
    class Thing:
        pass

    thing = Thing()
    thing.p = 3.0

    @jit
    def step(x):
        before = Thing()
        before.p = x * 2
        Thing.p = FIXED
        try:
            Thing().p = 3.0
        except AttributeError:
            x = x + 1000
        x = x + thing.p + before.p
        del Thing.p
        return x + before.p

    return [float(step(1.0)), float(step(2.0)), vars(thing)["p"]]


def taken_off_again(jit):
    class Thing:
        pass

    @jit
    def step(x):
        Thing.p = FIXED
        new = Thing()
        del Thing.p
        new.p = x * 2
        found = new.p
        Thing.p = 5.0
        found = found + 10 * new.p + 100 * Thing().p
        del new.p
        return found + 1000 * new.p

    return [float(step(1.0)), float(step(2.0)), Thing.p]


def program(jit):
    return {f.__name__: f(jit) for f in (set_and_read, without_a_setter, taken_off_again)}
