"""Statistics in one dict: counters that change at each call, and lists that are only appended to."""

import jax.numpy as jnp

# One for step (the counter takes no part in what is computed), one for fit with each number of names.
WANT_COMPILES = 3


class Trainer:
    def __init__(self):
        self.w = jnp.float32(1.0)
        self.stats = {"steps": 0, "loss": [], "by_kind": {"train": [], "test": []}, "names": ["a"]}

    def step(self, x):
        self.w = self.w + x
        self.stats["steps"] += 1
        self.stats["loss"].append(self.w)
        self.stats["by_kind"]["train"].append(self.w * x)
        return self.w

    def fit(self, x):
        self.stats["loss"].append(x)
        return x * len(self.stats["names"])


def program(jit):
    step, fit = jit(Trainer.step), jit(Trainer.fit)
    trainer, other = Trainer(), Trainer()
    seen = []
    for i in range(8):
        seen.append(float(step(trainer, jnp.float32(i))))
        seen.append(float(step(other, jnp.float32(-i))))
        seen.append(float(fit(trainer, jnp.float32(i))))
        if i == 3:
            trainer.stats["loss"] = []
            trainer.stats["by_kind"]["test"] = "unread"
            other.stats["by_kind"] = trainer.stats["by_kind"]
        if i == 5:
            trainer.stats["names"].append("b")
    for each in (trainer, other):
        losses = [float(v) for v in each.stats["loss"]]
        kinds = [float(v) for v in each.stats["by_kind"]["train"]]
        seen.append([each.stats["steps"], losses, kinds])
    return seen
