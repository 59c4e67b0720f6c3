"""The first call of a function that captures much: tracing, compiling, and the memory it takes.

Every measurement has a process of its own: peak memory is the process's, and caches must be cold. Run with an
argument, this file *is* that process: `python -m benchmarks.bench_first_call freshjit 6 [CACHE_FOLDER]`.
"""

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from time import perf_counter

import jax
import jax.numpy as jnp
import numpy as np

import freshjit
from benchmarks._report import Row, attempt

TITLE = "The first call, weights captured"

TIME_GOAL = 0.1
CACHED_TIME_GOAL = 0.02
FUNCTIONAL_GOAL = 1.1
MEMORY_GOAL_MB = 16.0  # "no extra memory": the compiler's own working set, seen without any weights

ROUNDS = 3

#: One weight: 4096 × 4096 float32 is 64 MB. Few and large, so that what is measured is the weights
#: and not the compilation of many layers, which all contenders share.
SIDE = 4096
WEIGHT_MB = SIDE * SIDE * 4 / 2**20


@dataclass(frozen=True)
class FirstCall:
    """What one process measured."""

    seconds: float
    memory_mb: float
    cache_mb: float

    def __str__(self) -> str:
        cache = f", {self.cache_mb:.1f} MB cached" if self.cache_mb else ""
        return f"{self.seconds:.2f} s, +{self.memory_mb:.0f} MB{cache}"


def rows(quick: bool) -> Iterator[Row]:
    """All measurements, one by one."""
    count = 1 if quick else 6
    for cached in (False, True):
        what = f"{count * WEIGHT_MB:.0f} MB{', compilation cache on' if cached else ''}"
        goal = CACHED_TIME_GOAL if cached else TIME_GOAL
        yield _attempt(f"{what}: a jax.jit closure", partial(_time_against, "closure", goal), count, cached)
        yield _attempt(
            f"{what}: functional jax.jit",
            partial(_time_against, "functional", FUNCTIONAL_GOAL),
            count,
            cached,
        )
        yield _attempt(f"{what}: memory, beside functional", _memory, count, cached)


def _attempt(what: str, figure: Callable[[str, dict[str, FirstCall]], Row], count: int, cached: bool) -> Row:
    return attempt(what, lambda: figure(what, _measured(count, cached)))


def _time_against(contender: str, goal: float, what: str, measured: dict[str, FirstCall]) -> Row:
    ours, theirs = measured["freshjit"], measured[contender]
    return Row(what, str(ours), str(theirs), ours.seconds / theirs.seconds, goal)


def _memory(what: str, measured: dict[str, FirstCall]) -> Row:
    ours, theirs = measured["freshjit"], measured["functional"]
    extra = max(ours.memory_mb - theirs.memory_mb, 0.0)
    return Row(what, str(ours), str(theirs), extra, MEMORY_GOAL_MB, unit="MB more")


@cache
def _measured(count: int, cached: bool) -> dict[str, FirstCall]:
    """The best of each contender's processes, which take turns."""
    rounds = [{name: _in_process(name, count, cached) for name in CONTENDERS} for _ in range(ROUNDS)]
    return {name: min((one[name] for one in rounds), key=lambda call: call.seconds) for name in CONTENDERS}


def _in_process(contender: str, count: int, cached: bool) -> FirstCall:
    command = [sys.executable, "-m", "benchmarks.bench_first_call", contender, str(count)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command + [folder] * cached, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    return FirstCall(**json.loads(done.stdout))


# --- inside the process -----------------------------------------------------------------------------


def _freshjit(weights: list[jax.Array], x: jax.Array) -> object:
    return freshjit.jit(lambda x: _product(weights, x))(x)


def _closure(weights: list[jax.Array], x: jax.Array) -> object:
    return jax.jit(lambda x: _product(weights, x))(x)


def _functional(weights: list[jax.Array], x: jax.Array) -> object:
    return jax.jit(_product)(weights, x)


CONTENDERS: dict[str, Callable[[list[jax.Array], jax.Array], object]] = {
    "freshjit": _freshjit,
    "closure": _closure,
    "functional": _functional,
}


def _product(weights: list[jax.Array], x: jax.Array) -> jax.Array:
    for weight in weights:
        x = jnp.tanh(weight @ x)
    return x


def _measure(contender: str, count: int, cache_folder: Path | None) -> FirstCall:
    if cache_folder:
        jax.config.update("jax_compilation_cache_dir", str(cache_folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    # Numbers that differ, so that nothing can be folded into one.
    random = np.random.default_rng(0)
    weights = [jnp.asarray(random.normal(size=(SIDE, SIDE)).astype("float32")) for _ in range(count)]
    x = jnp.ones(SIDE)
    jax.block_until_ready((weights, x, jax.jit(jnp.tanh)(x)))  # JAX itself is warm
    before, start = _peak_mb(), perf_counter()
    jax.block_until_ready(CONTENDERS[contender](weights, x))
    seconds = perf_counter() - start
    return FirstCall(seconds, _peak_mb() - before, _folder_mb(cache_folder) if cache_folder else 0.0)


def _peak_mb() -> float:
    """The peak of this process's own memory.

    On Linux not from `getrusage`, whose figure a new process inherits from the one that started it.
    """
    if sys.platform == "linux":
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _folder_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20


if __name__ == "__main__":
    name, weight_count, *folders = sys.argv[1:]
    result = _measure(name, int(weight_count), Path(folders[0]) if folders else None)
    print(json.dumps(asdict(result)))
