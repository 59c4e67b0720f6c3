"""Code that tells the capture of its assignments does what the code it was made of does."""

import gc
import textwrap
import types
import weakref

import jax.numpy as jnp
import pytest

from freshjit import jit
from freshjit.state.assignment import assigning, code_of


class Thing:
    pass


def made_from(source):
    """The function ``f`` of some source."""
    namespace = {"Thing": Thing}
    exec(textwrap.dedent(source), namespace)
    return namespace["f"]


def clone_of(function):
    cells = function.__closure__
    code = assigning(function.__code__)
    return types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, cells)


PLAIN_SELF = """
def f(self, x):
    self.a = x
    self.b, self.c = x, self.a
    self.a += 1
    def inner():
        self.d = x
    inner()
"""
SOURCES = {
    "one": "def f(a, b): a.x = 1",
    "of two": """
def f(a, b):
    a.x, b.x = 1, 2
    a.y = b.y = a.x
""",
    "augmented": """
def f(a, b):
    a.x = b.x = 1
    a.x += 2
    b.x **= a.x
""",
    "nested": """
def f(a, b):
    a.next = b
    a.next.x = 3
    a.next.next = a
    a.next.next.y = 4
""",
    "loop target": """
def f(a, b):
    for a.x in range(3):
        b.y = a.x
    else:
        b.z = 1
""",
    "with target": """
def f(a, b):
    import contextlib
    with contextlib.nullcontext(5) as a.x:
        b.x = a.x
""",
    "either": """
def f(a, b):
    (a if b is None else b).x = 1
    (b if a else a).y = 2
""",
    "class": """
def f(a, b):
    Thing.shared = 1
    Thing.shared += 1
    type(a).other = a.seen = Thing.shared
    del Thing.shared, Thing.other
""",
    "error": """
def f(a, b):
    try:
        a.x = 1
        (1).x = 2
    except AttributeError as error:
        a.error = str(error)
    finally:
        b.done = True
""",
    "inner functions": """
def f(a, b):
    def g(thing, n):
        thing.n = n
        return [lambda: setattr(t, "k", n) for t in (a, b)]
    class Local:
        def set(this, value):
            this.value = value
    for h in g(a, 1) + g(b, 2):
        h()
    local = Local()
    local.set(3)
    a.value = local.value
""",
    "generator": """
def f(a, b):
    def g():
        for i in range(3):
            a.i = i
            yield i
    b.all = list(g())
    b.pairs = {i: [x.i for x in (a,)] for i in g()}
""",
    "self among others": """
def f(self, other):
    self.a = 1
    other.b = self
    other.b.c = self.a
    self.d, other.e = 2, 3
    other.e += self.a
    self.d += other.e
""",
    "many names": "def f(a, b):\n" + "".join(f"    a.v{i} = b.v{i} = {i} + 0.5\n" for i in range(400)),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_the_copy_does_what_the_original_does(source):
    function = made_from(source)
    copy = clone_of(function)
    assert copy.__code__ is not function.__code__
    found = []
    for run in (function, copy):
        a, b = Thing(), Thing()
        run(a, b)
        found.append([{n: shown(v, a, b) for n, v in vars(x).items()} for x in (a, b)])
    assert found[0] == found[1]
    assert any(found[0])


def shown(value, a, b):
    return "a" if value is a else "b" if value is b else value


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_lines_jumps_and_offsets_are_those_of_the_original(source):
    function = made_from(source)
    code, copy = function.__code__, assigning(function.__code__)
    assert len(copy.co_code) == len(code.co_code)
    assert list(copy.co_lines()) == list(code.co_lines())
    assert copy.co_exceptiontable == code.co_exceptiontable
    assert (copy.co_filename, copy.co_name, copy.co_varnames) == (
        code.co_filename,
        code.co_name,
        code.co_varnames,
    )


def test_a_function_that_assigns_to_self_alone_runs_its_own_code():
    function = made_from(PLAIN_SELF)
    assert assigning(function.__code__) is function.__code__


def test_one_copy_is_made_of_each_code_and_goes_with_it():
    function = made_from(SOURCES["inner functions"])
    copy = weakref.ref(assigning(function.__code__))
    assert assigning(function.__code__) is copy()
    assert code_of(types.FunctionType(copy(), {})) is function.__code__
    assert code_of(function) is function.__code__
    del function
    gc.collect()
    assert copy() is None


def test_a_function_made_inside_and_kept_has_the_code_that_its_author_wrote():
    thing = Thing()

    def make(x):
        def mark(other):
            other.mark = x

        thing.mark = mark
        return mark

    wanted = make(1.0).__code__
    returned = jit(make)(jnp.float32(2.0))
    assert returned is thing.mark
    assert returned.__code__ is wanted
    returned(thing)
    assert float(thing.mark) == 2.0


def test_an_error_in_an_assignment_names_the_users_line():
    class Fixed:
        __slots__ = ()

    def fails(x):
        fixed = Fixed()
        fixed.x = x

    with pytest.raises(AttributeError) as caught:
        jit(fails)(1.0)
    lines = [frame.lineno + 1 for frame in caught.traceback if frame.name == "fails"]
    assert lines == [fails.__code__.co_firstlineno + 2]
