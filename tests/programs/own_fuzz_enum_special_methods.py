"""An enum member is called, added, indexed and compared: its special methods read globals that change."""

import enum

import jax.numpy as jnp

SCALE = 1.0


class Act(enum.Enum):
    RELU = "relu"
    TANH = "tanh"

    def __call__(self, x):
        return jnp.tanh(x) * SCALE if self is Act.TANH else jnp.maximum(x, 0) * SCALE

    def __add__(self, x):
        return self(x) + SCALE

    def __getitem__(self, i):
        return i * SCALE

    def __len__(self):
        return int(SCALE)

    def __bool__(self):
        return SCALE > 2


class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()

    def __matmul__(self, x):
        return x * SCALE * (2 if Flags.B in self else 1)


class Layer:
    def __init__(self):
        self.act, self.flags = Act.RELU, Flags.A


def program(jit):
    global SCALE
    layer = Layer()
    called = jit(lambda x: layer.act(x))
    rest = jit(
        lambda x: [layer.act + x, x * layer.act[2], x * len(layer.act), x * bool(layer.act), layer.flags @ x]
    )
    x = jnp.array([1.0, -1.0])
    seen = []
    for SCALE in (1.0, 3.0):
        for layer.act, layer.flags in ((Act.RELU, Flags.A), (Act.TANH, Flags.A | Flags.B)):
            seen.append([called(x).tolist(), [v.tolist() for v in rest(x)]])
            seen.append(
                [
                    str(layer.act),
                    Act("relu") is Act.RELU,
                    repr(layer.flags),
                    hash(layer.act) == hash(Act[layer.act.name]),
                ]
            )
    return seen
