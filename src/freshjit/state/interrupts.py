"""Cleaning up although an interrupt (Ctrl-C) may come at any moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["undisturbed"]


def undisturbed(clean_up: Callable[[], Any]) -> None:
    """Run something that may run twice; once more if an interrupt has cut it short."""
    try:
        clean_up()
    except BaseException:
        clean_up()
        raise
