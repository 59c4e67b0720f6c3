"""A module whose class has a property, a method and __getattr__; and __version__ assigned inside."""

import types


def program(jit):
    settings = types.ModuleType("settings_of_this_program")
    settings.gain = 2.0

    class Settings(types.ModuleType):
        @property
        def double(self):
            return self.gain * 2

        def times(self, x):
            return self.gain * x

        def __getattr__(self, name):
            if name == "computed":
                return 7.0
            raise AttributeError(name)

    settings.__class__ = Settings

    @jit
    def step(x):
        settings.__version__ = 2
        return x * settings.double + settings.times(x) + settings.computed + getattr(settings, "extra", 0.0)

    seen = [float(step(1.0)), settings.__version__]
    settings.gain = 3.0
    seen.append(float(step(1.0)))
    Settings.extra = 10.0
    seen.append(float(step(1.0)))
    Settings.double = property(lambda self: self.gain * 100)
    seen.append(float(step(1.0)))
    settings.extra = 1.0
    seen.append(float(step(1.0)))
    return {"seen": seen}
