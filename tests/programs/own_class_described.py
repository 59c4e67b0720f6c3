"""The name, the bases and the subclasses of a class: read inside, changed outside."""


def program(jit):
    class Base:
        pass

    class Other:
        pass

    class Layer(Base):
        pass

    layer = Layer()

    @jit
    def read(x):
        kind = type(layer)
        return x * len(kind.__mro__) * len(kind.__name__) * len(Base.__subclasses__())

    @jit
    def asked(x):
        return x * len(getattr(Layer, "__name__"))

    seen = [float(read(1.0)), float(asked(1.0))]
    Layer.__name__ = "AnotherLayer"
    seen += [float(read(1.0)), float(asked(1.0))]

    class Second(Base):
        pass

    seen.append(float(read(1.0)))
    Second.__bases__ = (Other,)
    seen.append(float(read(1.0)))
    Layer.__bases__ = (Base, Other)
    seen.append(float(read(1.0)))
    return {"seen": seen}
