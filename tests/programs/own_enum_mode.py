"""The mode of a simulator is an enum member (also a Flag combination and an IntEnum), assigned between calls."""

from enum import Enum, Flag, IntEnum, auto

import jax.numpy as jnp


class Boundary(Enum):
    PERIODIC = "periodic"
    WALL = "wall"


class Force(Flag):
    NONE = 0
    DRAG = auto()
    WIND = auto()


class Order(IntEnum):
    FIRST = 1
    SECOND = 2


class Simulator:
    boundary = Boundary.PERIODIC
    forces = Force.DRAG
    order = Order.FIRST

    def step(self, x):
        if Force.DRAG in self.forces:
            x = x * 0.5
        if Force.WIND in self.forces:
            x = x + 10
        if self.boundary is Boundary.WALL:
            x = jnp.clip(x, 0.0, 1.0)
        name = self.order.name if isinstance(self.order, Order) else "plain"
        return (x * 2) ** self.order, f"{self.boundary.value}/{name}"


def program(jit):
    sim = Simulator()
    step = jit(sim.step)
    seen = []
    edits = [
        {},
        {"forces": Force.DRAG | Force.WIND},
        {"boundary": Boundary.WALL},
        {"order": Order.SECOND},
        {"order": 2},  # equal to the member before, but no member
        {"forces": Force.NONE, "boundary": Boundary("periodic"), "order": Order.FIRST},
    ]
    for edit in edits:
        for name, value in edit.items():
            setattr(sim, name, value)
        y, text = step(jnp.array(3.0))
        seen.append([float(y), text])
    return seen
