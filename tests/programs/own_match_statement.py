"""A match statement takes apart the configured schedule: classes, sequences, mappings, literals and guards."""

from dataclasses import dataclass

import jax.numpy as jnp


@dataclass
class Linear:
    start: float
    end: float


@dataclass
class Steps:
    values: tuple


class Plan:
    schedule = Linear(1.0, 0.0)
    t = 0.5


def rate(plan):
    match plan.schedule:
        case Linear(start=a, end=b) if a >= b:
            return a + (b - a) * plan.t, "down"
        case Linear(a, b):
            return a + (b - a) * plan.t, "up"
        case Steps(values=(first, *rest)):
            return (first if plan.t < 0.5 or not rest else rest[-1]), f"steps{len(rest)}"
        case {"kind": "const", "value": v, **other}:
            return v, f"const{len(other)}"
        case [x, y] | (x, y, _):
            return x * y, "pair"
        case None | False:
            return 0.0, "off"
        case str(text):
            return float(text), "text"
    return -1.0, "unknown"


def program(jit):
    plan = Plan()

    @jit
    def step(w):
        lr, kind = rate(plan)
        return w * lr, kind

    seen = []
    for schedule in (
        plan.schedule,
        Linear(0.0, 4.0),
        Steps((8.0,)),
        Steps((8.0, 4.0, jnp.array(2.0))),
        {"kind": "const", "value": jnp.array(0.25), "note": ""},
        [3.0, 5.0],
        None,
        "0.125",
        17,
    ):
        plan.schedule = schedule
        y, kind = step(jnp.array(2.0))
        seen.append([float(y), kind])
    plan.schedule, plan.t = Steps((1.0, 9.0)), 0.0
    y, kind = step(jnp.array(2.0))
    return seen + [[float(y), kind]]
