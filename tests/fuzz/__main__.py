"""The long run: `python -m tests.fuzz --examples 1000 --seed 7` (or `make fuzz N=1000`)."""

import os
import random
import re
import time
from collections import Counter
from pathlib import Path

# Compiling is most of the time, and what is compiled runs once or twice.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import click
from hypothesis import HealthCheck, Phase, given, seed, settings
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from tests.fuzz.check import Failure, checked, clean, fails_as, report
from tests.fuzz.shrink import shrink
from tests.fuzz.write import Program, programs

BATCH = 100  # JAX's caches are emptied after so many programs


@click.command(context_settings={"show_default": True})
@click.option("--examples", default=1000, help="How many programs to write and run.")
@click.option(
    "--seed", "start", type=int, help="Where the random choices start.  [default: another each time]"
)
@click.option(
    "--out", default=Path(".fuzz"), type=click.Path(path_type=Path), help="Folder for failing programs."
)
@click.option("--shrink-seconds", default=60.0, help="Time to make each kind of failing program smaller.")
def main(examples: int, start: int | None, out: Path, shrink_seconds: float) -> None:
    """Write random programs, run each as plain Python and jitted, and report the kinds of differences."""
    console = Console()
    start = random.randrange(10**6) if start is None else start
    found: Counter[str] = Counter()
    smallest: dict[str, tuple[Program, Failure]] = {}
    begin = time.monotonic()
    columns = (TextColumn("programs"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[kinds]}"))
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task("", total=examples, kinds="")
        ran = 0
        for i in range(0, examples, BATCH):
            for program, failure in _batch(start + i, min(BATCH, examples - i)):
                ran += 1
                progress.update(task, advance=1)
                if failure is None:
                    continue
                found[failure.kind] += 1
                known = smallest.get(failure.kind)
                if known is None or len(program.source) < len(known[0].source):
                    smallest[failure.kind] = program, failure
                    _write(out, failure.kind, program, failure)
                progress.update(task, kinds=f"{len(found)} kinds of failures")
            clean()
            if not console.is_terminal:  # in a log, a bar shows nothing before its end
                console.print(f"{ran} programs, {found.total()} failed", highlight=False)
    minutes = (time.monotonic() - begin) / 60
    console.print(
        f"{ran} programs in {minutes:.1f} min, seed {start}; {found.total()} failed, in {len(found)} kinds."
    )
    for kind, times in found.most_common():
        program, failure = smallest[kind]
        small = shrink(program, lambda p, kind=kind: fails_as(p, kind), shrink_seconds)
        path = _write(out, kind, small, checked(small) or failure)
        console.print(f"[bold]{times}×[/] {kind}\n    {path}", highlight=False)
    raise SystemExit(bool(found))


def _write(out: Path, kind: str, program: Program, failure: Failure) -> Path:
    out.mkdir(exist_ok=True, parents=True)
    path = out / (re.sub(r"\W+", "_", kind).strip("_")[:60] + ".py")
    path.write_text(report(program, failure))
    return path


def _batch(start: int, size: int) -> list[tuple[Program, Failure | None]]:
    """The programs of one seed, and what is wrong with each."""
    seen: list[tuple[Program, Failure | None]] = []

    @seed(start)
    @settings(
        max_examples=size,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def run(program: Program) -> None:
        seen.append((program, checked(program)))

    run()
    return seen


if __name__ == "__main__":
    main()
