"""Attributes of the jitted function itself: counted inside, set and deleted outside, set before jit."""


def program(jit):
    @jit
    def step(x):
        step.calls += 1
        step.latest = x
        return x * step.calls * (2 if hasattr(step, "mode") else 1)

    step.calls = 0
    seen = [float(step(1.0)), int(step.calls), float(step(2.0)), int(step.calls), float(step.latest)]
    step.mode = "fast"
    seen.append(float(step(1.0)))
    step.calls = 100
    seen += [float(step(1.0)), int(step.calls)]
    del step.mode
    seen.append(float(step(1.0)))

    def before(x):
        return x * before.k

    before.k = 2.0
    before = jit(before)
    seen += [before.k, float(before(1.0))]
    before.k = 5.0
    seen.append(float(before(1.0)))
    del before.k
    before.k = 6.0
    seen.append(float(before(1.0)))

    @jit
    def outer(x):
        try:
            tag = before.tag
        except AttributeError:
            tag = 1.0
        return before(x) * tag

    seen.append(float(outer(1.0)))
    before.tag = 3.0
    seen.append(float(outer(1.0)))

    class Layer:
        @jit
        def forward(self, x):
            Layer.forward.calls += 1
            return x * Layer.forward.calls

    Layer.forward.calls = 0
    layer = Layer()
    seen += [float(layer.forward(1.0)), float(layer.forward(1.0)), int(Layer.forward.calls)]
    return {"seen": seen}
