"""What is not there at first: attributes of a base class, a module to import, a name among the builtins."""

import builtins
import sys
import types


class Base:
    pass


def program(jit):
    seen = {}

    class Child(Base):
        def apply(self, x):
            try:
                k = super().gain()
            except AttributeError:
                k = 1.0
            return x * k * (2 if hasattr(super(), "fast") else 1)

    Child.apply = jit(Child.apply)
    child = Child()
    seen["super"] = [float(child.apply(1.0))]
    Base.fast = True
    seen["super"].append(float(child.apply(1.0)))
    Base.gain = lambda self: 10.0
    seen["super"].append(float(child.apply(1.0)))

    @jit
    def optional(x):
        try:
            import module_that_comes_later

            k = module_that_comes_later.k
        except ImportError:
            k = 1.0
        return x * k

    seen["import"] = [float(optional(1.0))]
    late = sys.modules["module_that_comes_later"] = types.ModuleType("module_that_comes_later")
    late.k = 2.0
    seen["import"].append(float(optional(1.0)))
    late.k = 4.0
    seen["import"].append(float(optional(1.0)))
    sys.modules["module_that_comes_later"] = None
    seen["import"].append(float(optional(1.0)))
    sys.modules["module_that_comes_later"] = late
    seen["import"].append(float(optional(1.0)))
    del sys.modules["module_that_comes_later"]

    builtins.GAIN_OF_ALL = 1.0

    @jit
    def everywhere(x):
        try:
            k = OTHER_GAIN_OF_ALL
        except NameError:
            k = 1.0
        return x * GAIN_OF_ALL * k

    seen["builtins"] = [float(everywhere(1.0))]
    builtins.GAIN_OF_ALL = 5.0
    seen["builtins"].append(float(everywhere(1.0)))
    builtins.OTHER_GAIN_OF_ALL = 3.0
    seen["builtins"].append(float(everywhere(1.0)))
    del builtins.OTHER_GAIN_OF_ALL
    seen["builtins"].append(float(everywhere(1.0)))
    del builtins.GAIN_OF_ALL
    return seen
