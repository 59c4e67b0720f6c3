"""Debuggers, profilers, coverage and tracebacks see the user's functions, and go on after a capture."""

import cProfile
import inspect
import logging
import pstats
import subprocess
import sys
import textwrap
import threading
import traceback
import warnings

import jax.numpy as jnp
import pytest

from freshjit import jit


class Model:
    def __init__(self):
        self.w, self.name = jnp.float32(2.0), "model"

    def scale(self, x):
        return self.w * x

    @jit
    def step(self, x):
        y = self.scale(x)
        self.w = self.w + y
        return y


STEP, SCALE = Model.step.__wrapped__.__code__, Model.scale.__code__


def lines_of(code):
    return {line for _, _, line in code.co_lines() if line is not None} - {code.co_firstlineno}


def fresh_step(model):
    """Its ``step``, to be captured again."""
    Model.step.clear_cache()
    return model.step


@pytest.fixture
def tracer():
    """Whatever traces this process (coverage, a debugger) is put back."""
    before = sys.gettrace(), sys.getprofile()
    yield
    sys.settrace(before[0])
    sys.setprofile(before[1])


def test_settrace_sees_the_lines_of_captured_functions_and_stays(tracer):
    seen = []

    def trace(frame, event, argument):
        if frame.f_code in (STEP, SCALE):
            seen.append((frame.f_code, event, frame.f_lineno, frame.f_code.co_filename))
        return trace

    step = fresh_step(Model())
    sys.settrace(trace)
    step(1.0)
    assert sys.gettrace() is trace
    sys.settrace(None)
    for code in (STEP, SCALE):
        assert {line for c, event, line, _ in seen if c is code and event == "line"} == lines_of(code)
    assert {file for *_, file in seen} == {__file__}


def test_setprofile_sees_the_calls_of_captured_functions_and_stays(tracer):
    seen = []

    def profile(frame, event, argument):
        if frame.f_code in (STEP, SCALE) and event == "call":
            seen.append(frame.f_code)

    step = fresh_step(Model())
    sys.setprofile(profile)
    step(1.0)
    assert sys.getprofile() is profile
    sys.setprofile(None)
    assert seen == [STEP, SCALE]


def test_cprofile_counts_captured_functions_under_their_own_names():
    step = fresh_step(Model())
    profiler = cProfile.Profile()
    profiler.runcall(step, 1.0)
    calls = {key[2]: value[0] for key, value in pstats.Stats(profiler).stats.items() if key[0] == __file__}
    assert (calls["step"], calls["scale"]) == (1, 1)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with Python 3.12")
def test_monitoring_sees_the_lines_of_captured_functions():
    monitoring, tool = sys.monitoring, sys.monitoring.PROFILER_ID
    seen = set()
    step = fresh_step(Model())
    monitoring.use_tool_id(tool, "test")
    try:
        monitoring.register_callback(tool, monitoring.events.LINE, lambda code, line: seen.add((code, line)))
        for code in (STEP, SCALE):
            monitoring.set_local_events(tool, code, monitoring.events.LINE)
        step(1.0)
        for code in (STEP, SCALE):
            assert {line for c, line in seen if c is code} == lines_of(code)
            monitoring.set_local_events(tool, code, monitoring.events.NO_EVENTS)
    finally:
        monitoring.free_tool_id(tool)


def test_breakpoint_stops_in_a_captured_function_and_shows_its_source_and_variables(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """\
            import jax.numpy as jnp
            from freshjit import jit

            class Model:
                def __init__(self):
                    self.w, self.name = jnp.float32(2.0), "model"

                def scale(self, x):
                    return self.w * x

                @jit
                def step(self, x):
                    breakpoint()
                    y = self.scale(x)
                    self.w = self.w + y
                    return y

            model = Model()
            print("first", model.step(3.0), model.w)
            print("second", model.step(3.0), model.w)
            """
        )
    )
    commands = "p self.name, x.shape\nn\nn\np 'next', y.shape\nw\nc\n"
    shown = subprocess.run(
        [sys.executable, program], input=commands, check=True, capture_output=True, text=True, timeout=300
    ).stdout
    assert "-> y = self.scale(x)" in shown
    assert "('model', ())" in shown
    assert "('next', ())" in shown
    assert 'print("first", model.step(3.0), model.w)' in shown
    # Compiled, there is nothing to stop in.
    assert shown.splitlines()[-2:] == ["(Pdb) first 6.0 8.0", "second 24.0 32.0"]


def test_coverage_counts_captured_lines(tmp_path):
    pytest.importorskip("coverage")
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """\
            import jax.numpy as jnp
            from freshjit import jit

            class Model:
                w = jnp.float32(2.0)

                def scale(self, x):
                    return self.w * x

                @jit
                def step(self, x):
                    if x.ndim:
                        return x
                    return self.scale(x)

            Model().step(jnp.float32(1.0))
            """
        )
    )
    data = tmp_path / "data"
    run = [sys.executable, "-m", "coverage"]
    subprocess.run([*run, "run", f"--data-file={data}", "--branch", program], check=True)
    report = subprocess.run(
        [*run, "report", f"--data-file={data}", "-m", f"--include={program}"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    (row,) = [line for line in report.splitlines() if "program.py" in line]
    assert row.split("%")[1].split(",")[0].strip() == "13"


def test_traceback_of_a_users_error_shows_the_users_lines():
    class Wrong(Model):
        @jit
        def step(self, x):
            return self.fail(x)

        def fail(self, x):
            raise RuntimeError("no")

    with pytest.raises(RuntimeError) as error:
        Wrong().step(1.0)
    frames = traceback.extract_tb(error.tb)
    assert [f.line for f in frames if f.filename == __file__][-2:] == [
        "return self.fail(x)",
        'raise RuntimeError("no")',
    ]


def test_warnings_and_log_records_name_the_users_line(caplog):
    log = logging.getLogger("user")

    @jit
    def step(x):
        warnings.warn("careful", UserWarning, stacklevel=1)
        log.warning("logged")
        return x, inspect.stack()[0].function, sys._getframe().f_code.co_name

    with pytest.warns(UserWarning, match="careful") as caught:
        assert step(1.0)[1:] == ("step", "step")
    assert caught[0].filename == __file__
    assert source_line(caught[0].lineno).startswith("warnings.warn(")
    (record,) = [r for r in caplog.records if r.name == "user"]
    assert (record.pathname, record.funcName) == (__file__, "step")
    assert source_line(record.lineno) == 'log.warning("logged")'


def source_line(number):
    with open(__file__) as file:
        return file.read().splitlines()[number - 1].strip()


def test_source_signature_and_documentation_are_those_of_the_function():
    @jit
    def step(x, rate: float = 0.5):
        """What it does."""
        return x * rate

    assert inspect.getsource(step).splitlines()[1].strip() == "def step(x, rate: float = 0.5):"
    assert str(inspect.signature(step)) == "(x, rate: float = 0.5)"
    assert inspect.getdoc(step) == "What it does."


def test_a_debugger_in_another_thread_is_left_alone(tracer):
    """Tracing is a matter of each thread; a capture in one takes nothing from the other."""
    seen, ready, done = [], threading.Event(), threading.Event()

    def traced():
        def trace(frame, event, argument):
            seen.append(event)
            return trace

        sys.settrace(trace)
        ready.set()
        done.wait(60)
        seen.append(sys.gettrace() is trace)
        sys.settrace(None)

    other = threading.Thread(target=traced)
    other.start()
    ready.wait(60)
    fresh_step(Model())(1.0)
    done.set()
    other.join(60)
    assert True in seen
