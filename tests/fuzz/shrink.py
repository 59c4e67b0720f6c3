"""Make a failing program smaller: take statements away as long as it fails in the same way.

Hypothesis shrinks the draws; this works on the text, so that one statement can go without moving the others.
"""

import ast
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.write import Program

__all__ = ["shrink"]


def shrink(program: Program, fails: Callable[[Program], bool], seconds: float = 60.0) -> Program:
    """The smallest program found in this time for which ``fails`` holds."""
    end = time.monotonic() + seconds
    best = ast.parse(program.source)

    def better(candidate: ast.Module) -> bool:
        return fails(replace(program, source=ast.unparse(candidate) + "\n"))

    found = True
    while found and time.monotonic() < end:
        found = False
        for size in (8, 3, 1):
            for chunk in list(_chunks(best, size)):
                if time.monotonic() > end:
                    break
                candidate = _without(best, chunk)
                if candidate is not None and better(candidate):
                    best, found = candidate, True
        simpler = True
        while simpler and time.monotonic() < end:
            simpler = False
            for candidate in _simpler(best):
                if time.monotonic() > end:
                    break
                if better(candidate):
                    best, simpler, found = candidate, True, True
                    break
    return replace(program, source=ast.unparse(best) + "\n")


def _chunks(tree: ast.Module, size: int) -> Iterator[set[int]]:
    """Numbers the statements, and gives sets of neighbouring ones: the last and the outer ones first."""
    for number, node in enumerate(ast.walk(tree)):
        node.number = number  # type: ignore[attr-defined] - survives copies of the tree
    for node in ast.walk(tree):
        for _, block in _blocks(node):
            numbers = [s.number for s in block if not _kept(s)]  # type: ignore[attr-defined]
            for start in reversed(range(0, len(numbers), size)):
                yield set(numbers[start : start + size])


def _without(tree: ast.Module, chunk: set[int]) -> ast.Module | None:
    """The tree without these statements; None if they have gone already."""
    smaller = copy.deepcopy(tree)
    gone = False
    for node in ast.walk(smaller):
        for field, block in _blocks(node):
            left = [s for s in block if getattr(s, "number", None) not in chunk]
            if len(left) < len(block):
                gone = True
                setattr(node, field, left or ([ast.Pass()] if field == "body" else []))
    return ast.fix_missing_locations(smaller) if gone else None


def _kept(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.FunctionDef) and statement.name == "program"
    )


def _blocks(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt]]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list) and block:
            yield field, block


def _at(tree: ast.Module, where: int) -> ast.AST:
    return next(node for i, node in enumerate(ast.walk(tree)) if i == where)


def _simpler(tree: ast.Module) -> Iterator[ast.Module]:
    """A compound statement by its body; an operation by one of its operands; no decorator."""
    for i, node in enumerate(ast.walk(tree)):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if not isinstance(block, list):
                continue
            for k, statement in enumerate(block):
                if isinstance(statement, (ast.If, ast.For, ast.While, ast.Try)):
                    smaller = copy.deepcopy(tree)
                    getattr(_at(smaller, i), field)[k : k + 1] = copy.deepcopy(statement.body)
                    yield ast.fix_missing_locations(smaller)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.decorator_list:
            smaller = copy.deepcopy(tree)
            _at(smaller, i).decorator_list = []  # type: ignore[attr-defined]
            yield smaller
        for field, value in ast.iter_fields(node):
            for part in _parts(value):
                smaller = copy.deepcopy(tree)
                setattr(_at(smaller, i), field, copy.deepcopy(part))
                yield ast.fix_missing_locations(smaller)


def _parts(value: object) -> list[ast.expr]:
    match value:
        case ast.BinOp():
            return [value.left, value.right]
        case ast.IfExp():
            return [value.body, value.orelse]
        case ast.Call(args=[ast.expr() as first]) if not isinstance(first, (ast.List, ast.Starred)):
            return [first]
        case ast.Tuple(elts=[first, *_], ctx=ast.Load()):
            return [first]
        case _:
            return []
