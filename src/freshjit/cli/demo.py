"""`freshjit demo`: three questions about jax.jit, answered by running them."""

from collections import Counter
from typing import cast

import jax
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

import freshjit
from freshjit.cli.play import Answer, Jit, Verdict, judge, no_jit, play
from freshjit.cli.questions import QUESTIONS, Program, Question

__all__ = ["show_demo"]

_MAX_WIDTH = 100

# The terminal's own colours, on its own background: readable on light and dark ones.
_SYNTAX = Syntax("", "python", theme="ansi_dark", background_color="default")

_SHAPES = {
    Verdict.SILENT: ("{}", "dim"),
    Verdict.SAME: ("✓ {}", "green"),
    Verdict.STALE: ("✗ {}  stale", "bold red"),
    Verdict.ERROR: ("✗ {}", "red"),
}

# Cast, since in JAX's own annotation the function's type is unknown.
_CONTENDERS = {"jax.jit": cast(Jit, jax.jit), "freshjit": cast(Jit, freshjit.jit)}

_Tally = Counter[tuple[str, Verdict]]


def show_demo(console: Console | None = None) -> bool:
    """Run and print the demo; True if freshjit gave at each step what plain Python gives."""
    console = console or Console()
    console.width = min(console.width, _MAX_WIDTH)
    tally: _Tally = Counter()
    console.print(_introduction())
    for number, question in enumerate(QUESTIONS, start=1):
        console.print(Rule(f"[bold]{number}. {question.title}[/]", style="cyan"), "")
        for program in question.programs:
            console.print(_shown(question, program, tally), "")
    console.print(_summary(tally))
    return not (tally["freshjit", Verdict.STALE] or tally["freshjit", Verdict.ERROR])


def _introduction() -> RenderableType:
    return Padding(
        Text.assemble(
            "Each program runs three times, with ",
            ("jit", "bold"),
            " standing for nothing (plain Python), for ",
            ("jax.jit", "bold"),
            f" (JAX {jax.__version__}) and for ",
            ("freshjit.jit", "bold"),
            ". The tables show what came out, here and now.",
        ),
        (1, 0),
    )


def _shown(question: Question, program: Program, tally: _Tally) -> RenderableType:
    """One program: its title, its code, what came out, and why."""
    return Group(
        Text(program.title, style="bold"),
        Panel(_code(program.code), border_style="dim"),
        _results(program, tally, counted=question.counts_compilations),
        Text(program.why, style="italic"),
    )


def _results(program: Program, tally: _Tally, *, counted: bool) -> Table:
    """Run a program three times; a row for each step, and the verdicts into the tally."""
    plain = play(program, no_jit)
    played = {name: play(program, jit) for name, jit in _CONTENDERS.items()}
    table = _columns(list(played), counted=counted)
    for index, step in enumerate(program.steps):
        row = [_code(step), Text(str(plain[index]))]
        for name, answers in played.items():
            verdict = judge(answers[index], plain[index])
            tally[name, verdict] += 1
            row.append(_cell(answers[index], verdict))
            if counted:
                row.append(Text(_compiled(answers[index]), style="dim"))
        table.add_row(*row)
    return table


def _columns(contenders: list[str], *, counted: bool) -> Table:
    table = Table(expand=True, border_style="dim", header_style="bold")
    table.add_column(">>>", overflow="fold")
    table.add_column("plain Python", ratio=2, overflow="fold")
    for contender in contenders:
        table.add_column(contender, ratio=3, overflow="fold")
        if counted:
            table.add_column("compiled", justify="right", no_wrap=True)
    return table


def _code(code: str) -> Text:
    text = _SYNTAX.highlight(code)
    text.rstrip()
    text.no_wrap = False
    return text


def _cell(answer: Answer, verdict: Verdict) -> Text:
    shape, style = _SHAPES[verdict]
    return Text(shape.format(answer), style=style)


def _compiled(answer: Answer) -> str:
    """The number of compilations of a call; an assignment compiles nothing, and says nothing."""
    return str(answer.compiled) if answer.value is not None or answer.error or answer.compiled else ""


def _summary(tally: _Tally) -> Panel:
    grid = Table.grid(padding=(0, 2))
    for name in _CONTENDERS:
        counts = {verdict: tally[name, verdict] for verdict in Verdict if verdict is not Verdict.SILENT}
        grid.add_row(
            Text(name, style="bold"),
            Text(f"{counts[Verdict.SAME]} of {sum(counts.values())} as plain Python", style="green"),
            Text(f"{counts[Verdict.STALE]} stale"),
            Text(f"{counts[Verdict.ERROR]} errors"),
        )
    return Panel(grid, title="In all", border_style="cyan")
