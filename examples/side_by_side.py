"""What the examples share: two versions of one step that take turns, and a table that compares them."""

import statistics
import time

import jax
import jax.numpy as jnp
from rich.console import Console
from rich.table import Table

from freshjit.cli.compilations import compilations


class Contender:
    """One version: how long its steps took, and what was compiled for them."""

    def __init__(self):
        self.seconds = []
        self.compiled = 0

    def call(self, step, *args):
        compiled, start = compilations(), time.perf_counter()
        result = jax.block_until_ready(step(*args))
        if compilations() == compiled:
            self.seconds.append(time.perf_counter() - start)
        else:
            self.compiled += compilations() - compiled
        return result

    @property
    def median(self):
        return statistics.median(self.seconds) if self.seconds else float("nan")


class Race:
    """A plain class under ``freshjit.jit`` and the functional version, on the same batches."""

    def __init__(self):
        self.plain, self.functional = Contender(), Contender()
        self._plain_first = True

    def turn(self, plain, functional, *args):
        """Call both with the same arguments, each of them first every other time."""
        self._plain_first = not self._plain_first
        if self._plain_first:
            a = self.plain.call(plain, *args)
            return a, self.functional.call(functional, *args)
        b = self.functional.call(functional, *args)
        return self.plain.call(plain, *args), b

    def print(self, title, *rows):
        """The table: rows of a name and the two values, then compilations and time per step."""
        table = Table("", "plain class, freshjit.jit", "functional, jax.jit", title=title)
        for name, plain, functional in rows:
            table.add_row(name, str(plain), str(functional))
        table.add_row("compilations of the step", str(self.plain.compiled), str(self.functional.compiled))
        table.add_row("time per step, as a ratio", f"{self.plain.median / self.functional.median:.2f}", "1")
        Console().print(table)


def largest_difference(tree, other):
    """The largest difference between two trees of arrays, relative to the largest entry of each array."""

    def relative(a, b):
        return jnp.max(jnp.abs(a - b)) / (jnp.max(jnp.abs(b)) + 1e-30)

    return max(float(d) for d in jax.tree.leaves(jax.tree.map(relative, tree, other)))
