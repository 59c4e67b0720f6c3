"""super() passes over a class that lacks the method, until the class is given one."""


class Base:
    rate = 2.0

    def run(self, x):
        return x * self.rate


class Mixin(Base):
    pass


class Left(Base):
    def run(self, x):
        return super().run(x) + 1.0

    def scaled(self, x):
        return x * super().rate


class Both(Left, Mixin):
    pass


def plus_one(self, x):
    return x * 1000.0


def program(jit):
    thing, seen = Both(), []
    functions = [
        jit(lambda x: thing.run(x)),
        jit(lambda x: super(Left, thing).run(x)),
        jit(lambda x: super(Left, Both).run(thing, x)),
        jit(lambda x: thing.scaled(x)),
    ]

    def look():
        seen.append([float(f(1.0)) for f in functions])

    look()
    Mixin.run = plus_one
    look()
    del Mixin.run
    look()
    Mixin.rate = 7.0
    look()
    del Mixin.rate
    Both.run = plus_one
    look()
    del Both.run
    look()
    return seen
