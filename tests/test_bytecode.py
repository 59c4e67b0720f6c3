"""What is read off code objects is the same on every supported Python."""

import contextlib
import dis
import sys
import textwrap
import types

import pytest

from freshjit.state import bytecode


def code_of(source):
    """The code of the function ``f`` of some source."""
    namespace = {}
    exec(textwrap.dedent(source), namespace)
    return namespace["f"].__code__


NESTED = """
def f(a):
    before = a.first
    def g():
        class Local:
            third = a.third
        return lambda: a.fourth
    return [g() for _ in before]
"""


def test_the_walk_reaches_code_at_every_depth():
    names = [c.co_name for c in bytecode.walk(code_of(NESTED))]
    assert names[0] == "f"
    assert {"f", "g", "Local", "<lambda>"} <= set(names)
    assert len(names) == len(set(names))


def test_code_directly_inside_is_not_that_of_deeper_levels():
    assert "Local" not in [c.co_name for c in bytecode.code_inside(code_of(NESTED))]


# -- names --------------------------------------------------------------------------------------------


def test_names_are_those_of_globals_and_attributes_in_inner_code_too():
    assert {"first", "third", "fourth"} <= bytecode.names(code_of(NESTED))
    assert "before" not in bytecode.names(code_of(NESTED))


def test_global_names_are_neither_attributes_nor_local_variables():
    code = code_of("def f(a, c):\n    global z\n    z = 1\n    return a.b + x(y) + c + len(a.x, d=a.e)")
    assert bytecode.global_names(code) == ("x", "y", "len")


def test_a_name_imported_from_a_module_is_imported():
    code = code_of("def f(a):\n    from operator import is_ as same, eq\n    import math\n    return same(a)")
    assert bytecode.imported_names(code) == {"is_", "eq"}


def test_names_that_no_dictionary_is_asked_for_are_those_of_classes_and_of_deleted_globals():
    code = code_of(
        """
        def f():
            global gone
            del gone
            asked
            class Local:
                x = looked_up
        """
    )
    found = bytecode.unasked_names(code)
    assert {"gone", "looked_up"} <= set(found)
    assert "asked" not in found


# -- attributes ---------------------------------------------------------------------------------------


def test_names_that_are_deleted_are_those_of_inner_functions_too():
    code = code_of("def f(a, b):\n    del a.x, b.y.z\n    def g():\n        del a.w\n        a.kept = 1")
    assert bytecode.attributes_deleted(code) == {"x", "z", "w"}


def test_attributes_are_read_by_themselves_as_methods_and_of_super():
    code = code_of(
        """
        class C:
            def f(self, a):
                self.stored = 1
                a.called(a.read)
                del a.deleted
                super().of_super
                super().method_of_super()
                return lambda: a.inside
        f = C.f
        """
    )
    wanted = {"called", "read", "of_super", "method_of_super", "inside"}
    assert bytecode.attributes_read(code) == wanted


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("a.name", {"name"}),
        ("type(a).name", set()),
        ("a.__class__.name", {"__class__"}),
        ("cls.name", set()),
        ("a(b, cls.name)", set()),
        ("a(b, b.name)", {"name"}),
        ("(lambda: a.name)", {"name"}),
    ],
)
def test_attributes_of_objects_are_not_those_of_what_can_only_be_a_class(expression, wanted):
    code = code_of(f"def f(cls, a, b): return {expression}")
    assert bytecode.attributes_of_objects(code) == wanted


def test_an_attribute_that_is_assigned_or_deleted_is_one_of_an_object():
    code = code_of("def f(a):\n    a.x = 1\n    del a.y\n    a.z += 1")
    assert bytecode.attributes_of_objects(code) == {"x", "y", "z"}


def test_where_an_attribute_of_a_variable_or_a_class_is_read():
    code = code_of(
        """
        def f(cls, a, b):
            a.__dict__
            Global.__dict__
            type(a).__dict__
            a(b, cls.__dict__)
            Global.x.__dict__
        """
    )
    line = code.co_firstlineno
    assert bytecode.attribute_reads(code, "__dict__") == (
        bytecode.AttributeRead("Global", line + 2),
        bytecode.AttributeRead(None, line + 3),
        bytecode.AttributeRead(None, line + 4),
    )


def test_an_attribute_of_a_closure_variable_is_found_by_the_name_of_the_variable():
    inner = bytecode.code_inside(code_of("def f(outer):\n    return lambda: outer.__dict__"))[0]
    assert [read.variable for read in bytecode.attribute_reads(inner, "__dict__")] == ["outer"]


# -- what becomes of what is read ---------------------------------------------------------------------


def use_of(expression, variable="thing"):
    code = code_of(f"def f(a): return {expression}")
    return [use for use in bytecode.uses(code).values() if use.variable == variable]


@pytest.mark.parametrize(
    ("expression", "attribute", "compared"),
    [
        ("thing.x", "x", False),
        ("thing.x(a)", "x", False),
        ("thing is a", None, True),
        ("a is thing", None, True),
    ],
)
def test_the_use_of_a_variable_is_the_attribute_taken_or_the_comparison(expression, attribute, compared):
    assert use_of(expression) == [bytecode.Use("thing", attribute, compared)]


def test_a_variable_that_is_passed_on_has_no_use_that_can_be_told():
    assert use_of("a(thing)") == []


def test_the_class_of_a_pattern_is_compared():
    code = code_of("def f(a):\n    match a:\n        case thing(): return 1")
    found = [use for use in bytecode.uses(code).values() if use.variable == "thing"]
    assert found == [bytecode.Use("thing", None, True)]


def fates_of(body, name="log", parameters="a, k, x"):
    """What becomes of what the first instruction gives that reads a name, as kinds and names."""
    code = code_of(f"def f({parameters}):\n    {body}")
    offset = next(i.offset for i in dis.get_instructions(code) if bytecode.name_read(code, i.offset) == name)
    return seen(bytecode.fates(code, offset))


def seen(fates):
    return None if fates is None else {(fate.kind, fate.name) for fate in fates}


APPEND = ("method", "append")


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("a.log.append(x)", {APPEND}),
        ("log.append(x)", {APPEND}),
        ("a.log.append({key: value for key, value in x.items()})", {APPEND}),
        ("return a.log.append(x)", {APPEND}),
        ("a.log.clear()", {("method", "clear")}),
        ("(a.log if k else x).append(x)", {APPEND}),
        ("(x if k else a.log).append(x)", {APPEND}),
        ("a.log['loss'][0].append(x)", {("item", None)}),
        ("a.log[f'{k}/{x:>3}', 1].append(x)", {("item", None)}),
        ("a.log[k if x else 0] = x", {("set item", None)}),
        ("a.log[k] += g(*x, b=1)", {("item", None), ("set item", None)}),
        ("a.log += [y for y in x]", {("add", "log")}),
        ("x in a.log", {("in", None)}),
        ("for y in a.log: g(y)", {("iter", None)}),
        ("if a.log is not None: g(x)", {("is None", None)}),
        ("return a.log is None", {("is None", None)}),
        ("if k and a.log is None and x: g(x)", {("is None", None)}),
        ("a.log", set()),
        ("g(*a.log)", None),
        ("g(a.log)", None),
        ("return a.log, x", None),
        ("return a.log", None),
        ("x[0] = a.log", None),
        ("x.log = a.log", None),
        ("x[a.log]", None),
        ("a.log + x", None),
        ("x + a.log", None),
        ("a.log -= x", None),
        ("if a.log: g(x)", None),
        ("a.log is x", None),
        ("yield a.log", None),
        ("a.log.name", None),
        ("with a.log: g(x)", None),
        ("global log; log += x", None),
        ("g(a.log.append)", None),
        ("del a.log[0]", None),
        ("f'{a.log}'", None),
        ("x.append(a.log)", None),
        ("a.log.append(a.log)", {APPEND}),
    ],
)
def test_what_becomes_of_what_is_read(statement, wanted):
    assert fates_of(statement) == wanted


def test_what_is_read_twice_has_two_fates():
    code = code_of("def f(a):\n    a.log.append(a.log)")
    reads = [i.offset for i in dis.get_instructions(code) if i.argval == "log"]
    assert [seen(bytecode.fates(code, offset)) for offset in reads] == [{APPEND}, None]


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("log = a.log; log.append(x); log.extend(x)", {APPEND, ("method", "extend")}),
        ("log = a.log; log += x; log.append(k)", {("add", None), APPEND}),
        ("log = other = a.log; log.append(x); other[0]", {APPEND, ("item", None)}),
        ("log, k = a.log, x; log.append(k)", {APPEND}),
        ("(log := a.log).append(x); log.extend(k)", {APPEND, ("method", "extend")}),
        ("add = a.log.append; add(x); add(k, x)", {APPEND}),
        ("log = a.log; log = k; log.append(x)", {APPEND}),
        ("log = a.log\n    while x: log.append(x)\n    x = 1", {APPEND}),
        ("log = a.log\n    with x: log.append(x)", {APPEND}),
        (
            "log = a.log\n    try: log.append(x)\n    except KeyError: log.extend(x)",
            {APPEND, ("method", "extend")},
        ),
        ("log = a.log; del log", set()),
        ("log = a.log; log.append(x); return log", None),
        ("if x:\n        return log_\n    log_ = a.log", None),
        ("add = a.log.append; add(x); g(add)", None),
        ("log = a.log\n    def g(): log.append(x)", None),
        ("log = a.log; log.append(x); g(locals())", None),
        (
            "log = a.log; log.append(x); return [log for log in x]",
            {APPEND} if sys.version_info < (3, 12) else None,
        ),
    ],
)
def test_what_is_kept_in_a_variable_is_followed_to_all_its_uses(statement, wanted):
    assert fates_of(statement) == wanted


@pytest.mark.parametrize(
    ("loop", "wanted"),
    [
        ("for part in a.log: part.append(x)", [("iter", None), ("next", None), APPEND]),
        ("for part in a.log: g(part)", [("iter", None), ("next", None), None]),
        (
            "for part in a.log:\n        if x: part.append(x)\n        else: break",
            [("iter", None), ("next", None), APPEND],
        ),
        ("a.log[0][1].append(x)", [("item", None), ("item", None), APPEND]),
        ("b = a.log[k]; b['c'].append(x)", [("item", None), ("item", None), APPEND]),
    ],
)
def test_what_comes_of_it_is_followed_in_its_turn(loop, wanted):
    code = code_of(f"def f(a, k, x):\n    {loop}")
    offset = next(i.offset for i in dis.get_instructions(code) if i.argval == "log")
    found = []
    while offset is not None:
        fates = bytecode.fates(code, offset)
        found.append(None if fates is None else next(iter(seen(fates))))
        offset = None if fates is None else next(iter(fates)).offset
    assert found == wanted


def test_both_parts_of_an_item_are_followed():
    code = code_of("def f(a, x):\n    for key, part in a.items: part.append(key)")
    (unpack,) = (i.offset for i in dis.get_instructions(code) if i.opname == "UNPACK_SEQUENCE")
    assert seen(bytecode.fates(code, unpack, 0)) is None
    assert seen(bytecode.fates(code, unpack, 1)) == {APPEND}


def test_many_names_before_it_do_not_hide_a_reading_instruction():
    many = "; ".join(f"a.x{i}; b{i}" for i in range(300))
    assert fates_of(f"{many}; a.log.append(x); a.n = 1") == {APPEND}
    assert fates_of(f"log = a.log\n    for y in x: {many}; log.append(y)") == {APPEND}


def test_the_name_that_is_read_is_that_of_an_attribute_or_of_a_variable_that_is_not_local():
    code = code_of("def f(a):\n    b = g\n    a.c\n    a.d = b")
    names = [bytecode.name_read(code, i.offset) for i in dis.get_instructions(code)]
    assert [name for name in names if name] == ["g", "c"]


def test_a_cell_that_is_only_handed_on_is_not_used():
    code = code_of("def f(log):\n    def g():\n        return lambda x: log.append(x)\n    return g")
    middle = bytecode.code_inside(code)[0]
    assert bytecode.uses_of_variable(middle, "log") == []
    assert len(bytecode.uses_of_variable(bytecode.code_inside(middle)[0], "log")) == 1


# -- identity -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "xs.index(a)",
        "list.index(xs, a)",
        "xs.index(*a)",
        "o.xs.index(a)",
        "find = xs.index; find(a)",
        "find = xs.index",
        "sorted(a, key=xs.index)",
        "map(xs.index, a)",
        "return xs.index",
        "o.find = xs.index",
        "o[0] = xs.index",
        "finders = [xs.index]",
        "(xs.index if o else None)(a)",
        "(xs.index or o)(a)",
        "(o and xs.index)(a)",
        "xs.index.__call__(a)",
        "o(1 + 2, xs.index)",
        "o(-xs[0], xs.index)",
        "(find := xs.index)(a)",
        "find, n = xs.index, 1",
    ],
)
def test_a_method_that_is_called_or_may_be_called_later_counts(statement):
    code = code_of(f"def f(o, xs, a):\n    {statement}")
    assert "index" in bytecode.attributes_called_or_kept(code)


def test_a_method_of_super_counts():
    code = code_of("class C(list):\n    def f(self, a): return super().index(a)\nf = C.f")
    assert "index" in bytecode.attributes_called_or_kept(code)


@pytest.mark.parametrize(
    "statement",
    [
        "o.index += 1",
        "o.index = a",
        "del o.index",
        "return a * o.index",
        "return o.index * a",
        "return o.index + o.step * a",
        "return -o.index",
        "return o.index > 3",
        "return 3 < o.index",
        "return o.xs[o.index]",
        "return o.index[0]",
        "if o.index: return a",
        "if not o.index: return a",
        "if o.index is None: return a",
        "while o.index < 3: o.index += 1",
        "o.inner.index -= a",
        "o(index=1)",
        "index = 1; index += 1",
    ],
)
def test_an_attribute_that_is_assigned_or_computed_with_does_not_count(statement):
    code = code_of(f"def f(o, xs, a):\n    {statement}")
    assert "index" not in bytecode.attributes_called_or_kept(code)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("a is b", True),
        ("a is not b", True),
        ("a is a.x", True),
        ("a is None", False),
        ("a is not None", False),
        ("a is ...", False),
        ("a == b", False),
    ],
)
def test_only_a_comparison_with_what_may_be_another_thing_is_one_of_identity(expression, wanted):
    assert bytecode.compares_with_is(code_of(f"def f(a, b): return {expression}")) is wanted


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("try:\n        a()\n    except ValueError: pass", True),
        ("try:\n        a()\n    finally: b()", True),
        ("with a: b()", False),
        ("with a:\n        try: b()\n        except ValueError: pass", True),
        ("a()", False),
        ("return [b for b in a]", False),
    ],
)
def test_exceptions_are_handled_by_except_and_finally_but_not_by_with(source, wanted):
    assert bytecode.handles_exceptions(code_of(f"def f(a, b):\n    {source}")) is wanted


# -- assignments --------------------------------------------------------------------------------------


class Noted:
    """Notes what is assigned, in place of the attribute."""

    def __init__(self, name):
        self.name, self.given = name, []

    def __setitem__(self, thing, value):
        self.given.append((thing, value))


def replaced(code, wanted=lambda store: True):
    noted = {}

    def target(name):
        return noted.setdefault(name, Noted(name))

    stores = [store for store in bytecode.attribute_stores(code) if wanted(store)]
    return bytecode.replaced_stores(code, stores, target, lambda inner: inner), noted


@pytest.mark.parametrize(
    ("statement", "of_self"),
    [
        ("self.x = a", True),
        ("self.x += a", True),
        ("b.x = a", False),
        ("self.inner.x = a", False),
        ("b.x += self.x", False),
        ("a = b; self.x = a", True),
    ],
)
def test_an_assignment_says_whether_it_is_one_to_self(statement, of_self):
    code = code_of(f"def f(self, a, b):\n    {statement}")
    assert [(s.name, s.of_self) for s in bytecode.attribute_stores(code)] == [("x", of_self)]


def test_self_of_an_outer_function_is_self():
    inner = bytecode.code_inside(code_of("def f(self, a):\n    def g():\n        self.x = a\n    return g"))[
        0
    ]
    assert [s.of_self for s in bytecode.attribute_stores(inner)] == [True]


def test_replaced_assignments_reach_their_targets_and_the_others_are_as_they_were():
    code = code_of("def f(a, b):\n    a.x = 1\n    b.y = 2\n    b.x = 3\n    return b.y")
    new, noted = replaced(code, lambda store: store.name == "x")
    a, b = types.SimpleNamespace(), types.SimpleNamespace()
    assert types.FunctionType(new, {})(a, b) == 2
    assert noted["x"].given == [(a, 1), (b, 3)]
    assert vars(b) == {"y": 2}


def test_replaced_code_has_every_line_and_length_of_the_original():
    code = code_of("def f(a):\n" + "".join(f"    a.v{i} = {i}.5\n" for i in range(300)))
    new, noted = replaced(code)
    assert len(new.co_code) == len(code.co_code)
    assert list(new.co_lines()) == list(code.co_lines())
    a = types.SimpleNamespace()
    types.FunctionType(new, {})(a)
    assert noted["v299"].given == [(a, 299.5)]


def test_code_in_which_nothing_is_replaced_is_itself():
    code = code_of("def f(a):\n    a.x = 1\n    return lambda: a")
    assert replaced(code, lambda store: False)[0] is code


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("log.append(a)", {APPEND}),
        ("log.append(a).b", {APPEND}),
        ("g = log.append; g(a)", {APPEND}),
        ("a(log.append)", None),
        ("a(k=log.append(a))", {APPEND}),
        ("return log.append", None),
    ],
)
def test_a_method_of_what_the_module_imports_is_called_too(statement, wanted):
    code = code_of(f"from string import digits as log\ndef f(a):\n    {statement}")
    (offset,) = (i.offset for i in dis.get_instructions(code) if bytecode.name_read(code, i.offset) == "log")
    assert seen(bytecode.fates(code, offset)) == wanted


# -- what a frame is at ---------------------------------------------------------------------------------


class Asks:
    """Its attributes are read by a frame of their own, which some CPythons call without a call of C."""

    def __init__(self):
        self.seen = []

    def __getattribute__(self, name):
        if name != "seen":
            frame = sys._getframe(1)
            self.seen.append((name, bytecode.name_read(frame.f_code, bytecode.running(frame))))
            return []
        return object.__getattribute__(self, name)


def test_the_instruction_that_runs_is_known_however_often_it_has_run():
    def f(thing):
        thing.log.append(1)
        thing.history[0:0].sort()

    asks = Asks()
    for _ in range(40):  # enough for the interpreter to put its own instructions in place
        f(asks)
    assert set(asks.seen) == {("log", "log"), ("history", "history")}


# -- what an instruction asks of things ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "operations"),
    [
        ("a + b", {"add"}),
        ("a @ b ** a", {"matmul", "pow"}),
        ("a // b % a", {"floordiv", "mod"}),
        ("a < b", {"lt"}),
        ("a != b", {"ne"}),
        ("a in b", {"contains"}),
        ("a not in b", {"contains"}),
        ("a[b]", {"getitem"}),
        ("a[b:b]", {"getitem"}),
        ("a(b)", {"call"}),
        ("a(*b)", {"call"}),
        ("a(b=b)", {"call"}),
        ("a.b", {"attribute"}),
        ("f'{a}'", {"format"}),
        ("f'{a:>{b}}'", {"format"}),
        ("f'{a!r}'", {"repr"}),
        ("f'{a!s}'", {"str"}),
        ("[*a]", set()),
        ("a is b", set()),
        ("-a", set()),
        ("not a", set()),
    ],
)
def test_an_operation_has_the_name_of_its_method(source, operations):
    found = set(bytecode.operations(code_of(f"def f(a, b):\n    return {source}")).values())
    # Newer Pythons format what conversion has made a text of.
    assert found - ({"format"} if "!" in source else set()) == operations


def test_an_operation_in_place_has_the_name_of_that_method():
    code = code_of(
        "def f(a, b):\n    a += b\n    a <<= b\n    a |= b\n    a[b] = 1\n    del a[b]\n    return a"
    )
    assert set(bytecode.operations(code).values()) == {"iadd", "ilshift", "ior", "getitem"}


def test_operations_are_found_where_the_frame_runs():
    seen = []

    class Asked:
        def __add__(self, other=None):
            frame = sys._getframe(1)
            seen.append(bytecode.operations(frame.f_code).get(bytecode.running(frame)))
            return self

        __iadd__ = __lt__ = __getitem__ = __len__ = __add__

    def f(a):
        for _ in range(20):  # so that CPython specialises the instructions
            seen.clear()
            a + 1
            a += 1
            _ = a < 1
            a[1]
            with contextlib.suppress(TypeError):
                len(a)
        return a

    f(Asked())
    assert seen == ["add", "iadd", "lt", "getitem", "call"]
