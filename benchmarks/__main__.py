"""`python -m benchmarks [call] [first_call] [programs] [--quick] [--json FILE]`: run them, print tables."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarks import bench_call, bench_first_call, bench_programs
from benchmarks._report import Row, environment, show

BENCHMARKS: dict[str, tuple[str, Callable[[bool], Iterator[Row]]]] = {
    "call": (bench_call.TITLE, bench_call.rows),
    "first_call": (bench_first_call.TITLE, bench_first_call.rows),
    "programs": (bench_programs.TITLE, bench_programs.rows),
}


def main() -> int:
    """Run the chosen benchmarks; 1 if one of them could not be measured (a goal missed is no failure)."""
    arguments = _parse()
    measured: dict[str, list[Row]] = {}
    for name in arguments.names or BENCHMARKS:
        title, rows = BENCHMARKS[name]
        measured[name] = show(title, rows(arguments.quick))
    if arguments.json:
        _write(arguments.json, measured)
    return int(any(row.error for rows in measured.values() for row in rows))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which: {', '.join(BENCHMARKS)} (all of them)")
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in BENCHMARKS]:
        parser.error(f"no benchmark called {', '.join(unknown)}")
    return arguments


def _write(path: Path, measured: dict[str, list[Row]]) -> None:
    figures = {name: [asdict(row) for row in rows] for name, rows in measured.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"environment": environment(), "figures": figures}, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
