"""One row per measurement, and the tables they are printed in."""

import os
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import jax
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from benchmarks._measure import Comparison

__all__ = ["Row", "attempt", "environment", "ratio_row", "show"]

_CONSOLE = Console()


@dataclass(frozen=True)
class Row:
    """One measurement: what both contenders took, the figure that counts, and the goal for it."""

    what: str
    freshjit: str = ""
    other: str = ""
    figure: float | None = None
    goal: float | None = None
    unit: str = "×"
    error: str = ""


def ratio_row(what: str, comparison: Comparison, goal: float | None) -> Row:
    """The row of a comparison of two call times."""
    return Row(what, _time(comparison.ours), _time(comparison.theirs), comparison.ratio, goal)


def attempt(what: str, measure: Callable[[], Row]) -> Row:
    """The row, or one that says why there is none: the other measurements still count."""
    try:
        return measure()
    except Exception as error:
        return Row(what, error=f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}")


def show(title: str, rows: Iterable[Row]) -> list[Row]:
    """Print a table that grows as its rows are measured."""
    table = Table(title=title, title_justify="left", title_style="bold", border_style="dim")
    table.add_column("what", overflow="fold")
    for heading in ("freshjit", "other", "figure", "goal"):
        table.add_column(heading, justify="right")
    done: list[Row] = []
    with Live(table, console=_CONSOLE, refresh_per_second=2, vertical_overflow="visible"):
        for row in rows:
            done.append(row)
            table.add_row(*_cells(row))
    _CONSOLE.print()  # a table that is not shown on a terminal ends without a new line
    return done


def environment() -> dict[str, str]:
    """What the figures depend on."""
    return {
        "python": platform.python_version(),
        "jax": jax.__version__,
        "backend": jax.default_backend(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _cells(row: Row) -> tuple[str | Text, ...]:
    if row.error or row.figure is None:
        return row.what, Text(row.error, style="red"), "", "", _goal(row)
    missed = row.goal is not None and row.figure > row.goal
    figure = Text(_number(row.figure, row.unit), style="bold red" if missed else "bold green")
    return row.what, row.freshjit, row.other, figure, _goal(row)


def _goal(row: Row) -> str:
    return "" if row.goal is None else f"≤ {_number(row.goal, row.unit)}"


def _number(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"
