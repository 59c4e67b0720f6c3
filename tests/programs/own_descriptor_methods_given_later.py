"""The class of an object that sits in another class becomes a descriptor, in part, and ceases to be one."""

import functools

METHODS = {
    "__get__": lambda self, instance, owner=None: 4.0,
    "__set__": lambda self, instance, value: instance.__dict__.update(other=value),
    "__delete__": lambda self, instance: instance.__dict__.update(deleted=1.0),
}


def read(thing, x):
    return x if isinstance(thing.part, float) else -x


def read_of_the_class(thing, x):
    return x if isinstance(type(thing).part, float) else -x


def written(thing, x):
    thing.part = x * 2
    return x if isinstance(thing.part, Part) else thing.part * 1.0


def written_only(thing, x):
    thing.part = x * 2
    return x + 10 * ("other" in vars(thing))


def deleted(thing, x):
    if "part" not in vars(thing):
        return -x
    del thing.part
    return x + 10 * ("deleted" in vars(thing))


class Part:
    pass


def observed(jit, use, name, has_get):
    """What ``use`` gives before, with, and after the method; and what is left in the object."""
    own = {"__get__": lambda self, instance, owner=None: 3.0} if has_get else {}
    kind = type("Part", (Part,), own)
    thing = type("Thing", (object,), {"part": kind()})()
    function = jit(functools.partial(use, thing))

    def now():
        if use is deleted:
            vars(thing)["part"] = 6.0
        return float(function(1.0))

    seen = [now(), now()]
    setattr(kind, name, METHODS[name])
    seen += [now(), now()]
    delattr(kind, name)
    return [*seen, now(), sorted(vars(thing))]


def program(jit):
    found = {}
    for use in (read, read_of_the_class, written):
        found[f"{use.__name__}, get"] = observed(jit, use, "__get__", has_get=False)
    for use in (written, written_only):
        for has_get in (False, True):
            found[f"{use.__name__}, set, {has_get}"] = observed(jit, use, "__set__", has_get)
    found["deleted"] = observed(jit, deleted, "__delete__", has_get=True)
    return found
