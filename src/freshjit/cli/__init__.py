"""The command line: `freshjit demo` (run `freshjit --help` for the rest)."""

import sys

import click

__all__ = ["main"]


@click.group(name="freshjit", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="freshjit")
def main() -> None:
    """freshjit: a drop-in for jax.jit that is never stale."""


@main.command(short_help="Three questions about jax.jit, answered by running them.")
def demo() -> None:
    """Answer three questions about jax.jit, in plain Python, with jax.jit and with freshjit.

    Everything shown is run here and now. The exit status is 1 if freshjit gave anything but
    what plain Python gives.
    """
    # Imported only now: `freshjit --help` should not wait for JAX.
    from freshjit.cli.demo import show_demo

    sys.exit(0 if show_demo() else 1)
