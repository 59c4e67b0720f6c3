"""Special methods that Python's own machinery calls (to index a class, copy, list names, make a class) read globals."""

import copy

import jax.numpy as jnp

scale = 1


class Indexed:
    def __class_getitem__(cls, key):
        return key, scale

    def __dir__(self):
        return [f"name{scale}"]


class Reduced:
    def __init__(self, a):
        self.a = a

    def __reduce__(self):
        return Reduced, (scale,)


class Stated:
    a = 0

    def __getstate__(self):
        return {"a": scale}


class Restored:
    def __init__(self):
        self.a = 0

    def __setstate__(self, state):
        self.a = scale


class Base:
    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.tag = scale


class Named:
    def __set_name__(self, owner, name):
        self.name = name, scale


class Meta(type):
    @classmethod
    def __prepare__(cls, name, bases):
        return {"prepared": scale}

    def __instancecheck__(cls, instance):
        return scale == 2

    def __subclasscheck__(cls, subclass):
        return scale == 3


class Any(metaclass=Meta):
    pass


def program(jit):
    global scale
    reduced, stated, restored, indexed = Reduced(0), Stated(), Restored(), Indexed()

    @jit
    def index(x):
        return Indexed["k"], dir(indexed), x

    @jit
    def copies(x):
        return copy.copy(reduced).a, copy.copy(stated).a, x

    @jit
    def deep(x):
        return copy.deepcopy(restored).a, x

    @jit
    def derived(x):
        class Derived(Base):
            name = Named()

        return Derived.tag, Derived.name.name, x

    @jit
    def prepared(x):
        class Made(metaclass=Meta):
            pass

        return Made.prepared, x

    @jit
    def matched(x):
        match reduced:
            case Any():
                found = "any"
            case _:
                found = "none"
        return found, isinstance(reduced, Any), issubclass(int, Any), x

    seen = []
    for scale in (1, 2, 3, 2, "text"):
        for function in (index, copies, deep, derived, prepared, matched):
            *found, _ = function(jnp.float32(1.0))
            seen += found
    Indexed.__class_getitem__ = classmethod(lambda cls, key: "replaced")
    Indexed.__dir__ = lambda self: ["replaced"]
    Reduced.__reduce__ = lambda self: (Reduced, ("replaced",))
    Named.__set_name__ = lambda self, owner, name: setattr(self, "name", "replaced")
    for function in (index, copies, derived):
        *found, _ = function(jnp.float32(1.0))
        seen += found
    return [list(part) if isinstance(part, tuple) else part for part in seen]
