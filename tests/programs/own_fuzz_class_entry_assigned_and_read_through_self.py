"""A class attribute is assigned inside, and read through an instance afterwards: it is the new one that is read."""

import jax.numpy as jnp


class Base:
    scale = 1.0
    kept = jnp.ones(2)


class Model(Base):
    total = jnp.zeros(2)
    steps = 0

    def act(self, v):
        return v * 2

    def step(self, x):
        Model.total = Model.total + x
        Model.steps = Model.steps + 1
        Model.added = x * self.steps
        Base.scale = self.scale * 2
        out = [self.total, self.steps, self.added, self.scale, super().scale]
        if self.steps == 2:
            Model.act = lambda self, v: v * self.scale
        self.steps = 10
        return [*out, self.steps, Model.steps, self.act(x), self.kept]

    def forget(self, x):
        self.__dict__.pop("steps", None)
        del Model.added
        return x * self.steps, hasattr(self, "added")


def program(jit):
    model, x = Model(), jnp.array([1.0, 2.0])
    step, forget = jit(model.step), jit(model.forget)
    seen = []
    for _ in range(4):
        seen.append([v if isinstance(v, (int, float)) else v.tolist() for v in step(x)])
        seen.append([v if isinstance(v, bool) else v.tolist() for v in forget(x)])
    Base.kept = jnp.zeros(2)
    seen.append([v if isinstance(v, (int, float)) else v.tolist() for v in step(x)])
    return seen
