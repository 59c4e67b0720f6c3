"""The short run: random programs show the same, jitted and plain; and tests of the fuzzer itself."""

import jax
import jax.numpy as jnp
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.fuzz import check, eager, look
from tests.fuzz.shrink import shrink
from tests.fuzz.write import Program, programs

# About half a minute on two small cores. `make fuzz` runs as many as one has patience for.
SHARDS, EXAMPLES = 4, 20


@pytest.fixture(autouse=True)
def own_jax_settings():
    """Programs use JAX's defaults; and what they compile is of no use to other tests."""
    with jax.numpy_rank_promotion("allow"):
        yield
    check.clean()


@pytest.mark.parametrize("shard", range(SHARDS))
def test_random_programs_show_the_same_jitted_and_plain(shard):
    @seed(shard)  # the same programs in every run
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # the failing program is made smaller below, statement by statement
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def run(program):
        failure = check.checked(program)
        if failure is not None:
            small = shrink(program, lambda p: check.fails_as(p, failure.kind))
            pytest.fail(check.report(small, check.checked(small) or failure), pytrace=False)

    run()


# ---------------------------------------------------------------- the fuzzer finds what it should


HEAD = "import jax, jax.numpy as jnp\nfrom tests.fuzz.look import Look\nlook = Look(__name__)\n"


def program_of(body: str) -> Program:
    lines = "".join(f"    {line}\n" for line in body.strip().split("\n"))
    end = "    return {'seen': look.rows, 'state': look.state(globals(), locals())}\n"
    return Program(
        f"{HEAD}class Box:\n    pass\n\n\ndef program(jit):\n{lines}{end}", True, False, False, 0, 0
    )


STALE = """
box = Box()
box.n = 1
box.unread = 2
run = jit(lambda x: x * box.n)
look(run, jnp.float32(1.0))
box.n = 2
box.unread = 3
look(run, jnp.float32(1.0))
"""


def test_a_stale_result_is_found_and_made_small(monkeypatch):
    def forgetful(f):
        kept = []

        def call(*args):
            kept[:] = kept or [f(*args)]
            return kept[0]

        return call

    program = program_of(STALE)
    assert check.check(program) is None
    monkeypatch.setattr(check, "jit", forgetful)
    failure = check.check(program)
    assert failure is not None
    assert failure.kind.startswith("result")
    small = shrink(program, lambda p: check.fails_as(p, failure.kind))
    assert "unread" not in small.source
    assert "box.n = 2" in small.source
    assert "eager" in check.report(small, failure)


def test_a_write_that_is_not_made_is_found(monkeypatch):
    program = program_of("box = Box()\nrun = jit(lambda x: setattr(box, 'y', x))\nlook(run, jnp.ones(2))")
    assert check.check(program) is None
    monkeypatch.setattr(check, "jit", lambda f: lambda *args: None)
    failure = check.check(program)
    assert failure is not None
    assert failure.kind.startswith("state")


def test_a_tracer_left_in_state_is_found(monkeypatch):
    program = program_of("box = Box()\nrun = jit(lambda x: setattr(box, 'y', x))\nlook(run, jnp.ones(2))")
    monkeypatch.setattr(check, "jit", jax.jit)
    failure = check.check(program)
    assert failure is not None
    assert failure.kind == "raises TracerFound"


def test_an_error_that_plain_python_does_not_raise_is_found(monkeypatch):
    def refuses(f):
        def call(*args):
            raise TypeError("no")

        return call

    program = program_of(STALE)
    monkeypatch.setattr(check, "jit", refuses)
    failure = check.check(program)
    assert failure is not None
    assert failure.kind == "raises TypeError"


def test_lost_aliases_are_differences():
    shared, other = jnp.ones(2), jnp.ones(2)
    one, two = look.Look(), look.Look()
    one.value([shared, shared])
    two.value([shared, other])
    assert look.differences(one.rows, one.rows) == []
    assert look.differences(one.rows, two.rows)


@pytest.mark.parametrize(
    ("a", "b"), [(1, True), (1, 1.0), (jnp.ones(2), jnp.ones(2, jnp.float16)), ([1], (1,))]
)
def test_values_of_other_types_are_differences(a, b):
    one, two = look.Look(), look.Look()
    one.value(a)
    two.value(b)
    assert look.differences(one.rows, two.rows)


def test_gradients_of_plain_jax_leave_the_writes_of_one_run():
    class Model:
        pass

    Model.__module__ = "_fuzz_test"
    model, log = Model(), []
    model.n = 0

    def loss(x):
        model.n += 1
        model.last = x
        log.append(x)
        return jnp.sum(x * x)

    assert eager.plain_jax().grad(loss)(jnp.ones(2)).tolist() == [2.0, 2.0]
    assert (model.n, model.last.tolist(), len(log)) == (1, [1.0, 1.0], 1)


def test_a_scan_of_plain_jax_is_a_python_loop():
    seen = []

    def body(carry, x):
        seen.append(float(x))
        return carry + x, carry

    carry, rows = eager.plain_jax().lax.scan(body, jnp.float32(0.0), jnp.array([1.0, 2.0]))
    assert (float(carry), rows.tolist(), seen) == (3.0, [0.0, 1.0], [1.0, 2.0])
