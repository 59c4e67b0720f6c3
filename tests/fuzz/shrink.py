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
    size = 16
    while size and time.monotonic() < end:
        smaller = None
        for candidate in _candidates(best, size):
            if time.monotonic() > end:
                break
            if fails(replace(program, source=ast.unparse(candidate) + "\n")):
                smaller = candidate
                break
        if smaller is None:
            size //= 2
        else:
            best = smaller
    return replace(program, source=ast.unparse(best) + "\n")


def _candidates(tree: ast.Module, size: int) -> Iterator[ast.Module]:
    """The tree without `size` neighbouring statements; for single ones also with simpler forms."""
    for where, (field, n) in _blocks(tree):
        for start in reversed(range(0, n, size)):
            smaller = copy.deepcopy(tree)
            block = getattr(_at(smaller, where), field)
            removed = block[start : start + size]
            if any(_needed(statement) for statement in removed):
                continue
            block[start : start + size] = []
            if not block and field == "body":
                block.append(ast.Pass())
            if removed and not (len(removed) == 1 and isinstance(removed[0], ast.Pass)):
                yield ast.fix_missing_locations(smaller)
    if size == 1:
        yield from _simpler(tree)


def _needed(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.FunctionDef) and statement.name == "program"


def _blocks(tree: ast.Module) -> list[tuple[int, tuple[str, int]]]:
    return [
        (i, (field, len(block)))
        for i, node in enumerate(ast.walk(tree))
        for field in ("body", "orelse", "finalbody")
        if isinstance(block := getattr(node, field, None), list) and block
    ]


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
