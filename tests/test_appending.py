"""A list that is only appended to is not looked at: it may be of any length, and no program depends on it."""

import collections
import types

import jax
import jax.numpy as jnp
import pytest

from freshjit import jit

pytestmark = pytest.mark.leaks

CALLS = 6
journal = []


class Plain:
    def __init__(self):
        self.log, self.recent = [], collections.deque(maxlen=3)
        self.history = {"loss": [], "step": []}
        self.pair, self.twins = [[], []], ([], [])
        self.n = jnp.float32(0.0)
        self.stats = {"n": jnp.float32(0.0), "loss": [], "by": {"a": [], "b": 1}, "last": None}


class Slotted:
    __slots__ = ("history", "log", "n", "pair", "recent", "stats", "twins")
    __init__ = Plain.__init__


def to_attribute(box, x):
    box.n = box.n + x
    box.log.append(box.n)
    return box.n


def several_at_once(box, x):
    box.log.extend([x, 1])
    box.log.append("note")


def to_deque(box, x):
    box.recent.append(2 * x)


def to_items_of_a_dict(box, x):
    box.history["loss"].append(x * x)
    for name in ("loss", "step"):
        box.history[name].append(x)


def to_an_item_of_a_list(box, x):
    box.pair[0].append(x)
    box.pair[-1].append(x + 1)


def to_an_item_of_a_tuple(box, x):
    box.twins[1].append(x)


def beside_other_items(box, x):
    box.stats["loss"].append(x)
    box.stats["n"] += x
    box.stats["by"]["a"].append(box.stats["n"])
    box.stats["n"] = box.stats["n"] * 2
    box.stats["loss"].extend([box.stats["n"], 1])
    return box.stats["n"]


def beside_other_items_that_come_first(box, x):
    total = box.stats["n"] + x
    box.stats["n"] = total
    box.stats["loss"].append(total)


def beside_other_items_of_a_gradient(box, x):
    def loss(w):
        box.stats["n"] += w
        box.stats["loss"].append(w * w)
        return jnp.sum(w * w * w)

    out = slope(loss, x, 3 * x * x)
    box.stats["loss"].append(box.stats["n"])
    return out


def to_a_global(box, x):
    journal.append(x)
    box.log = list("ab")


def through_a_helper(box, x):
    for i in range(3):
        to_attribute(box, x + i)


def slope(loss, x, by_hand):
    """``jax.grad``, which would leave tracers in the lists if nobody threaded them through."""
    if isinstance(x, jax.core.Tracer):
        return jax.grad(loss)(x)
    loss(x)
    return by_hand


def under_a_gradient(box, x):
    def loss(w):
        box.log.append(w * w)
        return jnp.sum(w * w * w)

    box.log.append("before")
    return slope(loss, x, 3 * x * x)


def new_objects(box, x):
    box.log.append({"x": x, "box": box})
    box.log.append([x, (x,)])


def by_adding_in_place(box, x):
    box.log += [x]
    box.log += (x + 1, "note")
    box.recent += [x]
    box.history["loss"] += [2 * x]


def kept_in_variables(box, x):
    log, recent = box.log, box.recent
    log.append(x)
    log += [x + 1]
    again = log
    again.extend([x, x])
    recent.append(x)
    box.log.append("last")


def a_method_that_is_kept(box, x):
    add, more = box.log.append, box.history["loss"].extend
    add(x)
    add(2 * x)
    more([x])


def a_dict_that_is_kept(box, x):
    stats, history = box.stats, box.history
    stats["n"] += x
    stats["loss"].append(stats["n"])
    stats["by"]["a"].append(x)
    inner = stats["by"]
    inner["a"].append(2 * x)
    for name in ("loss", "step"):
        history[name].append(x)


def found_by_methods_of_the_dict(box, x):
    box.history.setdefault("loss", []).append(x)
    box.history.get("step").append(x)
    losses = box.stats.setdefault("loss", [])
    losses.append(x)
    get = box.stats.get
    get("by").get("a").append(x)


def in_loops_over_the_dict(box, x):
    new = {"loss": x, "step": x + 1}
    for name, items in box.history.items():
        items.append(new[name])
    for items in box.history.values():
        items += [x]
    for name in box.history:
        box.history[name].append(x)
    for name in box.history.keys():
        if name in box.history:
            box.history[name].append(x)


def in_loops_over_a_list_and_a_tuple(box, x):
    for items in box.pair:
        items.append(x)
    for i, _ in enumerate(("a", "b")):
        box.twins[i].append(x)
    for items in box.twins:
        items.append(x)
        if len(box.twins) == 2:
            break


def under_keys_of_any_form(box, x):
    for which in ("lo", "st"):
        box.history[{"lo": "loss", "st": "step"}[which]].append(x)
        box.history[f"{'loss' if which == 'lo' else 'step'}"].append(x)


def one_of_two(box, x):
    (box.log if box.stats else box.recent).append(x)
    (kept := box.pair[0]).append(x)
    kept.append(x)


def if_there_is_one(box, x):
    if box.log is not None and hasattr(box, "recent"):
        box.log.append(x)
    if box.stats is not None:
        box.stats["loss"].append(x)
    if hasattr(box, "none"):
        box.none.append(x)


def beside_what_is_written_whole(box, x):
    box.stats.update(last=x, other=[x])
    box.stats["loss"].append(x)
    box.stats["last"] = x + 1


def added_in_place_under_a_gradient(box, x):
    def loss(w):
        box.log += [w * w]
        for items in box.history.values():
            items.append(2 * w)
        stats = box.stats
        stats["loss"] += [w]
        return jnp.sum(w * w * w)

    out = slope(loss, x, 3 * x * x)
    box.log += [x]
    return out


ONLY_APPEND = [
    to_attribute,
    by_adding_in_place,
    kept_in_variables,
    a_method_that_is_kept,
    a_dict_that_is_kept,
    found_by_methods_of_the_dict,
    in_loops_over_the_dict,
    under_keys_of_any_form,
    if_there_is_one,
    added_in_place_under_a_gradient,
    several_at_once,
    to_deque,
    to_items_of_a_dict,
    to_an_item_of_a_list,
    to_an_item_of_a_tuple,
    beside_other_items,
    beside_other_items_that_come_first,
    beside_other_items_of_a_gradient,
    to_a_global,
    through_a_helper,
    under_a_gradient,
    new_objects,
]


def plainly(value, inside=()):
    """State as plain data; what is met again inside itself is only named."""
    if isinstance(value, jax.Array):
        return value.tolist()
    if isinstance(value, (Plain, Slotted)):
        names = Slotted.__slots__
        return "box" if value in inside else {n: plainly(getattr(value, n), (*inside, value)) for n in names}
    if isinstance(value, dict):
        return {k: plainly(v, inside) for k, v in value.items()}
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value)(plainly(v, inside) for v in value)
    return value


def run(function, kind, calls=CALLS):
    """All results and the whole state after some calls."""
    journal.clear()
    box = kind()
    results = [function(box, jnp.float32(i)) for i in range(calls)]
    return plainly(results), plainly(box), plainly(journal)


@pytest.mark.parametrize("kind", [Plain, Slotted])
@pytest.mark.parametrize("function", ONLY_APPEND)
def test_appending_costs_one_program_however_long_the_list_gets(function, kind):
    fast = jit(lambda box, x: function(box, x))
    before = fast._cache_size()
    assert run(fast, kind) == run(function, kind)
    assert fast._cache_size() - before == 1


def looks_afterwards(box, x):
    box.log.append(x)
    return len(box.log)


def looks_first(box, x):
    n = len(box.log)
    box.log.append(x)
    return n


def looks_in_between(box, x):
    box.log.append(x)
    last = box.log[-1]
    box.log.append(last + 1)
    return last


def looks_inside_a_gradient(box, x):
    box.log.append(x)

    def loss(w):
        box.log.append(w)
        return w * len(box.log)

    return slope(loss, x, jnp.float32(len(box.log) + 1)), len(box.log)


def keeps_the_method(box, x):
    add = box.log.append
    add(x)
    add(box.log[0])


def hands_the_list_on(box, x):
    def fill(log):
        log.append(x)
        return log[0]

    return fill(box.log)


def replaces_it(box, x):
    box.log.append(x)
    box.log = [*box.log, "again"]
    box.log.append(x + 1)


def looks_at_a_dict_of_lists(box, x):
    box.history["loss"].append(x)
    return {name: len(items) for name, items in box.history.items()}


def chooses_one(box, x):
    (box.log if len(box.pair[0]) % 2 else box.pair[0]).append(x)


def through_getattr(box, x):
    getattr(box, "log").append(x)  # noqa: B009 - the point
    return len(box.log)


def first_of_missing(box, x):
    try:
        box.history["other"].append(x)
    except KeyError:
        box.history["other"] = []


def takes_an_item_and_looks(box, x):
    box.stats["n"] += x
    box.stats["loss"].append(x)
    return len(box.stats["loss"]), box.stats["by"]["b"]


def takes_an_item_and_hands_the_dict_on(box, x):
    box.stats["n"] += x
    box.stats["loss"].append(x)
    stats = box.stats
    stats["loss"].append(stats["n"])
    stats["by"]["a"].append(len(stats["loss"]))
    return sorted(stats), list(stats["loss"])


def sets_the_list(box, x):
    box.stats["n"] += 1
    box.stats["loss"] = [*box.stats["loss"], x]
    box.stats["loss"].append(x)
    box.stats["by"] = {"a": [x]}
    box.stats["by"]["a"].append(len(box.stats))


def adds_in_place(box, x):
    box.stats["n"] += 1
    box.stats["loss"] += [x]
    box.stats["new"] = [x]
    box.stats["new"].append(x)


def looks_after_a_gradient(box, x):
    box.stats["n"] += x

    def loss(w):
        box.stats["loss"].append(w)
        box.stats["n"] += w
        inner = len(box.stats["loss"]), len(box.stats["by"])
        return w * inner[0] * inner[1]

    out = slope(loss, x, jnp.float32(2 * (len(box.stats["loss"]) + 1)))
    return out, box.stats


def one_dict_in_two_places(box, x):
    box.history = box.stats
    box.stats["n"] += x
    box.history["loss"].append(x)
    return len(box.history["loss"]), box.history["n"]


def missing_item(box, x):
    box.stats["n"] += x
    try:
        box.stats["gone"].append(x)
    except KeyError as error:
        box.stats["last"] = str(error)
    try:
        box.stats[[]].append(x)
    except TypeError:
        box.stats["loss"].append("no key")


def appends_to_a_variable_and_looks(box, x):
    log = box.log
    log.append(x)
    return len(log)


def returns_the_variable(box, x):
    log = box.log
    log.append(x)
    return log


def adds_in_place_and_looks(box, x):
    box.log += [x]
    n = len(box.log)
    box.log += [n]
    return n


def adds_itself(box, x):
    box.log += box.log
    box.log += [x]


def adds_what_is_no_list(box, x):
    box.log += "ab"
    try:
        box.log += 3
    except TypeError as error:
        box.stats["last"] = str(error)
    box.log.append(x)


def looks_while_it_adds(box, x):
    def length():
        return len(box.log)

    box.log += [length()]


def replaces_while_it_adds(box, x):
    def replace():
        box.log = [x]
        return [1]

    box.log += replace()


def deletes_while_it_adds(box, x):
    def delete():
        log = box.log
        del box.log
        return [len(log)]

    box.log += delete()


def replaces_an_item_while_it_adds(box, x):
    def replace():
        box.history["loss"] = [x]
        return [1]

    box.history["loss"] += replace()


def replaces_in_a_loop(box, x):
    for name, items in box.history.items():
        items.append(x)
        box.history[name] = [x]


def looks_in_a_loop(box, x):
    found = []
    for items in box.history.values():
        items.append(x)
        found.append(sum(map(len, box.history.values())))
    return found


def keeps_the_last_of_a_loop(box, x):
    for items in box.history.values():
        items.append(x)
    return len(items)


def changes_the_size_in_a_loop(box, x):
    try:
        for name, items in box.stats["by"].items():
            box.stats["by"][name + "'"] = items
    except RuntimeError as error:
        box.log.append(str(error))
    box.stats["by"] = {"a": [], "b": 1}


def grows_the_list_that_it_goes_over(box, x):
    for i, items in enumerate(box.pair):
        items.append(x)
        if i == 0:
            box.pair.append([5])
    for items in box.pair:
        items.append(x)
        box.pair[0].append(len(box.pair))


def takes_items_in_pairs(box, x):
    for pair in box.history.items():
        pair[1].append(x)


def sorts_the_items(box, x):
    for _, items in sorted(box.history.items()):
        items.append(x)


def keeps_the_keys(box, x):
    keys = box.history.keys()
    box.history["loss"].append(x)
    return len(keys), list(keys)


def pops_an_item(box, x):
    stats = box.stats
    stats["loss"].append(x)
    n = stats.pop("n")
    stats["n"] = n + 1


def swaps_two(box, x):
    history = box.history
    history["loss"], history["step"] = history["step"], history["loss"]
    history["loss"].append(x)


def one_list_under_two_keys(box, x):
    box.history["step"] = box.history["loss"]
    for items in box.history.values():
        items.append(x)


def puts_the_list_elsewhere(box, x):
    here = {}
    here["log"] = box.log
    box.log.append(x)
    return len(here["log"])


def shows_its_variables(box, x):
    log = box.log
    log.append(x)
    return len(locals()["log"])


def a_generator_appends(box, x):
    def fill():
        for name, items in box.history.items():
            items.append(x)
            yield name

    return list(fill())


def asks_whether_it_is_empty(box, x):
    first = not box.log
    box.log.append(first)
    return first


def compares_it_with_none(box, x):
    if box.log is None or box.stats is None:
        return 0
    return len(box.log)


def a_method_of_it_is_passed_on(box, x):
    add = box.log.append
    list(map(add, [x, 1]))


def missing_with_a_default(box, x):
    items = box.history.setdefault("other", [])
    items.append(x)
    more = box.history.get("none")
    box.history.get("none", box.log).append(x)
    return more is None, box.history.get("none", 3)


def asks_for_an_attribute_and_deletes_it(box, x):
    there = hasattr(box, "log")
    if there:
        del box.log
    box.log = [hasattr(box, "log")]
    return there


LOOK = [
    one_of_two,
    in_loops_over_a_list_and_a_tuple,
    beside_what_is_written_whole,
    appends_to_a_variable_and_looks,
    returns_the_variable,
    adds_in_place_and_looks,
    adds_itself,
    adds_what_is_no_list,
    looks_while_it_adds,
    replaces_while_it_adds,
    deletes_while_it_adds,
    replaces_an_item_while_it_adds,
    replaces_in_a_loop,
    looks_in_a_loop,
    keeps_the_last_of_a_loop,
    changes_the_size_in_a_loop,
    grows_the_list_that_it_goes_over,
    takes_items_in_pairs,
    sorts_the_items,
    keeps_the_keys,
    pops_an_item,
    swaps_two,
    one_list_under_two_keys,
    puts_the_list_elsewhere,
    shows_its_variables,
    a_generator_appends,
    asks_whether_it_is_empty,
    compares_it_with_none,
    a_method_of_it_is_passed_on,
    missing_with_a_default,
    asks_for_an_attribute_and_deletes_it,
    takes_an_item_and_looks,
    takes_an_item_and_hands_the_dict_on,
    sets_the_list,
    adds_in_place,
    looks_after_a_gradient,
    one_dict_in_two_places,
    missing_item,
    looks_afterwards,
    looks_first,
    looks_in_between,
    looks_inside_a_gradient,
    keeps_the_method,
    hands_the_list_on,
    replaces_it,
    looks_at_a_dict_of_lists,
    chooses_one,
    through_getattr,
    first_of_missing,
]


@pytest.mark.parametrize("kind", [Plain, Slotted])
@pytest.mark.parametrize("function", LOOK)
def test_a_list_that_is_looked_at_as_well_is_read_like_any_other(function, kind):
    assert run(jit(function), kind) == run(function, kind)


def test_closure_variable_that_is_only_appended_to():
    def program(jit):
        log = []

        @jit
        def note(x):
            def twice(y):
                log.append(2 * y)

            log.append(x)
            twice(x)

        for i in range(4):
            note(jnp.float32(i))
        return log, note

    log, note = program(jit)
    assert plainly(log) == plainly(program(lambda f: f)[0])
    assert note._cache_size() == 1


def test_closure_variables_that_are_dicts_of_lists():
    def program(jit):
        history, runs = {"loss": [], "n": jnp.float32(0)}, [{"loss": []}]

        @jit
        def note(x):
            def twice(y):
                history["loss"] += [2 * y]

            history["loss"].append(x)
            history["n"] += 1
            for _, items in [*history.items()][:0]:
                items.append(x)
            twice(x)

        @jit
        def look(x):
            history["loss"].append(x)
            return len(history["loss"])

        @jit
        def last(x):
            runs[-1]["loss"].append(x)

        sizes = []
        for i in range(4):
            note(jnp.float32(i))
            last(jnp.float32(i))
            if i % 2:
                sizes.append(look(jnp.float32(i)))
        return plainly((history, runs, sizes)), note, last

    assert program(jit)[0] == program(lambda f: f)[0]


def test_closure_variable_that_another_function_looks_at():
    def program(jit):
        log = []

        def note(x):
            log.append(x)

        def size():
            return len(log)

        @jit
        def step(x):
            note(x)
            first = size()
            note(x)

            def loss(w):
                note(w)
                return w * size()

            return first, slope(loss, x, jnp.float32(size() + 1)), size()

        return plainly([step(jnp.float32(i)) for i in range(3)]), plainly(log)

    assert program(jit) == program(lambda f: f)


def test_function_made_inside_appends_later_to_the_real_list():
    log = []

    @jit
    def make(x):
        log.append(x)
        return lambda y: log.append(y)

    make(1.0)("later")
    assert plainly(log) == [1.0, "later"]


@pytest.mark.parametrize("edit", range(6))
def test_what_is_changed_between_calls_is_found(edit):
    def step(box, x):
        log, stats = box.log, box.stats
        log += [x]
        stats["loss"].append(x)
        stats["n"] += x
        for items in box.history.values():
            items.append(x)
        if hasattr(box, "extra") and box.extra is not None:
            box.extra.append(x)

    def change(box):
        if edit == 0:
            box.log.clear()
            box.history["loss"] = box.log
        elif edit == 1:
            box.history["new"] = [1]
            del box.history["step"]
        elif edit == 2:
            box.stats = {"n": 5, "loss": box.history["loss"]}
        elif edit == 3:
            box.extra = ["new"]
        elif edit == 4:
            box.extra = None
        else:
            box.history = {"loss": (), "step": []}

    def program(jit):
        box, jitted = Plain(), jit(lambda box, x: step(box, x))
        found = []
        for i in range(6):
            try:
                jitted(box, jnp.float32(i))
            except AttributeError as error:
                found.append(str(error))
                break
            found.append(plainly(vars(box)))
            if i == 2:
                change(box)
            if i == 4 and hasattr(box, "extra"):
                del box.extra
        return found

    assert program(jit) == program(lambda f: f)


def test_a_setattr_of_the_class_gets_the_list_itself():
    class Counting(Plain):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            if name == "log":
                super().__setattr__("size", len(value))

    class Property(Plain):
        hidden = ()

        @property
        def log(self):
            return self.hidden

        @log.setter
        def log(self, value):
            self.hidden = [*value, "set"]

    def program(jit, kind):
        box, found = kind(), []

        @jit
        def step(x):
            box.log += [x]

        for i in range(3):
            step(jnp.float32(i))
            found.append((plainly(list(box.log)), getattr(box, "size", None)))
        return found

    for kind in (Counting, Property):
        assert program(jit, kind) == program(lambda f: f, kind)


def test_what_is_added_to_a_list_of_a_module_is_found():
    def program(jit):
        module = types.ModuleType("settings")
        module.log = []

        @jit
        def step(x):
            module.log += [x]
            return len(module.log)

        return plainly([step(jnp.float32(i)) for i in range(3)]), plainly(module.log)

    assert program(jit) == program(lambda f: f)


def test_two_lists_that_become_one_are_told_apart_from_two():
    def program(jit):
        box = Plain()

        @jit
        def step(x):
            box.log.append(x)
            box.recent.append(x + 1)
            box.log.append(x + 2)

        box.log, box.recent = [], []
        step(jnp.float32(1.0))
        apart = plainly((box.log, box.recent))
        box.log = box.recent = []
        step(jnp.float32(1.0))
        return apart, plainly(box.log)

    assert program(jit) == program(lambda f: f)


def test_a_thing_of_another_type_is_found_out():
    class Loud(list):
        def append(self, value):
            super().append(("loud", value))

    box = Plain()
    step = jit(lambda x: to_attribute(box, x))
    step(1.0)
    box.log = Loud()
    step(1.0)
    assert plainly(list(box.log)) == [("loud", 2.0)]
    box.log = None
    with pytest.raises(AttributeError):
        step(1.0)


def test_nothing_is_appended_if_the_function_raises():
    box = Plain()

    @jit
    def step(x):
        box.log.append(x)
        if box.history:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        step(1.0)
    assert box.log == []


def test_a_method_of_the_list_given_to_a_callback_fills_the_real_list():
    box = Plain()

    @jit
    def step(x):
        jax.debug.callback(box.log.append, x)
        return x

    for i in range(3):
        step(float(i)).block_until_ready()
    jax.effects_barrier()
    assert plainly(box.log) == [0.0, 1.0, 2.0]


def test_methods_of_lists_that_are_handed_out_belong_to_the_real_lists():
    box = Plain()

    @jit
    def step(x):
        new = [x]
        return box.log.append, new.append, new

    to_log, to_new, new = step(1.0)
    to_log("log")
    to_new("new")
    assert box.log == ["log"]
    assert plainly(new) == [1.0, "new"]
    step(2.0)[1]("other")
    assert plainly(new) == [1.0, "new"]


def test_a_loop_of_jax_that_appends_is_an_error_that_names_the_list():
    box = Plain()

    @jit
    def step(xs):
        def body(carry, x):
            box.log.append(x)
            return carry, x

        return jax.lax.scan(body, 0.0, xs)

    with pytest.raises(Exception, match=r"box\.log changes its length inside a loop of jax\.lax"):
        step(jnp.ones(2))
    assert box.log == []
