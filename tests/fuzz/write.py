"""Whole programs, written at random: classes, closures, state of all kinds, calls, and edits between calls.

``programs()`` is a hypothesis strategy of ``Program``: readable source text that stands alone. All draws
prefer the simple choice (the first of each list), so that a failing program shrinks to few lines.

Programs are legal for JAX by construction. Values are of few types: ``vec`` is a float32 array that
broadcasts with shape (2,), and nearly every statement computes the local ``v`` of exactly that shape. What a
statement writes is said by tags, which decide where the statement may stand:

    arr   an array that depends on arguments, of a shape and dtype that never change
    free  the same, but not dependent on an argument (a PRNG key that is split)
    py    a Python value, or the structure of something
    np    a NumPy array, in place

and ``while``: it contains a loop that JAX does not differentiate.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

__all__ = ["Program", "programs"]

ALL = frozenset({"arr", "free", "py", "np", "while"})
ON_THE_SIDE = frozenset({"arr", "free", "py"})  # in grad, checkpoint
LOOP = frozenset({"arr", "free", "while"})  # in scan, cond, while_loop: state is carried as arrays
BATCH = frozenset({"free", "py", "while"})  # in vmap: what is written may not depend on the lane

ARRAYS = ["[0.5, -0.25]", "[1.0, 0.75]", "[-0.5, 0.125]", "[0.0, 1.5]"]
PARTS = ["plain", "slots", "dataclass", "property", "descriptor", "getattr", "child", "frozen", "setattr"]

# How a field of each kind begins. `{a}` is a list of two floats, `{p}` a new part.
INITIAL = {
    "vec": "jnp.array({a})",
    "fixed": "jnp.array({a})",
    "num": "1",
    "flag": "True",
    "rate": "0.5",
    "mode": '"a"',
    "lim": "jnp.array({a})",
    "opt": "None",
    "ws": "[jnp.array({a}), jnp.ones(2)]",
    "hist": "[]",
    "tab": '{{"a": jnp.array({a}), "b": jnp.ones(2)}}',
    "cfg": '{{"deep": {{"rate": 0.5, "w": jnp.array({a})}}, "names": ["a"]}}',
    "buf": "np.array({a}, np.float32)",
    "log": "np.zeros(3, np.float32)",
    "tags": '{{"t"}}',
    "win": "collections.deque([jnp.array({a})], maxlen=2)",
    "pair": "Pair(jnp.array({a}), 2)",
    "tup": "(jnp.array({a}), 1)",
    "count": "collections.Counter()",
    "lazy": "collections.defaultdict(list)",
    "stats": '{{"n": 0, "losses": [], "best": None}}',
    "order": "collections.OrderedDict(a=jnp.array({a}), b=1)",
    "bag": "Bag([jnp.array({a})])",
    "recs": '[{{"v": jnp.array({a}), "n": 1}}]',
    "part": "{p}",
    "layers": "[{p}, {p}]",
    "act": "jnp.tanh",
    "key": "jax.random.key(0)",
}
KINDS = list(INITIAL)


@dataclass(frozen=True)
class Program:
    source: str
    transforms: bool  # it uses transforms that plain_jax() replaces
    loose: bool  # numbers are carried through loops, which makes arrays of them
    steady: bool  # the last calls of the program may compile nothing
    edits: int
    calls: int


@dataclass(frozen=True)
class Place:
    """Where a value is found. `binding` is the statement that a function needs before it may assign it."""

    expr: str
    kind: str
    binding: str | None = None
    assign: bool = True


@dataclass
class Callee:
    """Something that takes a vec and returns one; `tags` says what it writes."""

    expr: str
    tags: frozenset[str]
    raises: bool = False


@dataclass
class Scope:
    """One function being written: what it sees, and what has been used of it."""

    places: list[Place]
    callees: list[Callee]
    allowed: frozenset[str] = ALL
    local: list[str] = field(default_factory=lambda: ["v"])
    safe: list[str] = field(default_factory=lambda: ["v"])  # locals that do not depend on a lane of vmap
    lane: bool = False
    me: str | None = None
    tags: set[str] = field(default_factory=set)
    bindings: set[str] = field(default_factory=set)
    transforms: int = 0

    def inner(self, allowed: frozenset[str], local: list[str], lane: bool) -> "Scope":
        return Scope(
            places=self.places,
            callees=self.callees,
            allowed=self.allowed & allowed,
            local=local,
            safe=self.safe if lane or self.lane else [*local],
            lane=lane or self.lane,
            me=self.me,
            tags=self.tags,
            transforms=self.transforms + 1,
        )

    def of(self, *kinds: str) -> list[Place]:
        return [p for p in self.places if p.kind in kinds]

    def may(self, tag: str) -> bool:
        return tag in self.allowed

    def wrote(self, tag: str, place: Place | None = None) -> None:
        self.tags.add(tag)
        if place is not None and place.binding is not None:
            self.bindings.add(place.binding)


def indent(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


class Writer:
    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self._draw = draw
        self.transforms = False
        self.steady = True
        self.names = 0

    # ------------------------------------------------------------ draws

    def pick(self, options: list[Any]) -> Any:
        return options[0] if len(options) == 1 else options[self._draw(st.integers(0, len(options) - 1))]

    def chance(self, one_in: int = 2) -> bool:
        return self._draw(st.integers(0, one_in - 1)) == one_in - 1

    def count(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def some(self, options: list[Any], most: int) -> list[Any]:
        left, taken = list(options), []
        for _ in range(self.count(0, min(most, len(left)))):
            taken.append(left.pop(self.count(0, len(left) - 1)))
        return taken

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    # ------------------------------------------------------------ expressions

    def num(self, s: Scope) -> str | None:
        """A Python number that is not an argument."""
        options: list[str] = []
        for p in s.places:
            e = p.expr
            match p.kind:
                case "num":
                    options += [e, f"({e} % 3)", f"min({e}, 4)", f"({e} // 2)", f"-{e}", f"int({e} > 2)"]
                    options += [f"float({e})", f"abs({e} - 3)", f"divmod({e}, 3)[1]", f"len(str({e}))"]
                case "rate":
                    options += [
                        e,
                        f"({e} + 0.5)",
                        f"math.cos({e})",
                        f"round({e}, 1)",
                        f"max({e}, 0.3)",
                        f"{e} ** 2",
                    ]
                case "flag":
                    options += [f"(2.0 if {e} else 0.5)", f"int({e})"]
                case "mode":
                    options += [f'{{"a": 0.5, "b": 2.0}}.get({e}, 1.0)', f"len({e})"]
                case "hist" | "win" | "layers" | "ws":
                    options.append(f"len({e})")
                case "cfg":
                    options += [f'{e}["deep"]["rate"]', f'len({e}["names"])', f'{e}.get("more", 1.0)']
                case "tags":
                    options += [f'(2.0 if "t" in {e} else 1.0)', f"len({e})"]
                case "pair":
                    options += [f"{e}.k", f"{e}[1]"]
                case "tup":
                    options += [f"{e}[1]"]
                case "part":
                    options += [f"{e}.k", f"{e}.scale"]
                case "count":
                    options += [f'{e}["a"]', f"sum({e}.values())"]
                case "lazy":
                    options += [f'len({e}.get("a", ()))']
                case "stats":
                    options += [f'{e}["n"]', f'len({e}["losses"])', f'len({e}.get("extra", ()))', f"len({e})"]
                case "order":
                    options += [f'{e}["b"]', f"len({e})", f'list({e}).index("b")']
                case "bag":
                    options += [f"{e}.taken", f"len({e})", f"{e}.size()"]
                case "recs":
                    options += [f"len({e})", f'sum(r["n"] for r in {e})', f'{e}[-1]["n"]']
                case "buf":
                    options += [f"float({e}[0])", f"float({e}.sum())"]
                case "lim":
                    options += [f"float({e}[0])"]
                case _:
                    pass
        return self.pick(options) if options else None

    def leaf(self, s: Scope) -> str:
        options = list(s.local)
        for p in s.places:
            e = p.expr
            match p.kind:
                case "vec" | "fixed" | "lim":
                    options.append(e)
                case "buf" | "log":
                    options += [f"jnp.asarray({e})[:2]"]
                case "ws":
                    options += [f"{e}[0]", f"{e}[-1]", f"sum({e})"]
                case "tab":
                    options += [f'{e}["a"]', f'{e}.get("b")', f'sum({e}[k] for k in ("a", "b"))']
                case "cfg":
                    options.append(f'{e}["deep"]["w"]')
                case "win":
                    options += [f"{e}[-1]", f"sum({e})"]
                case "pair":
                    options += [f"{e}.w", f"{e}[0]"]
                case "tup":
                    options += [f"{e}[0]"]
                case "part":
                    options.append(f"{e}.w")
                case "layers":
                    options += [
                        f"{e}[0].w",
                        f"sum(l.w for l in {e})",
                        f"jnp.stack([l.w for l in {e}]).mean(0)",
                    ]
                case "stats":
                    options += [f'sum({e}["losses"])', f'({e}["losses"][-1] if {e}["losses"] else 0.25)']
                    options += [f'(0.5 if {e}["best"] is None else {e}["best"])']
                case "order":
                    options += [f'{e}["a"]', f"next(iter({e}.values()))"]
                case "recs":
                    options += [f'{e}[-1]["v"]', f'sum(r["v"] for r in {e} if r["n"] < 3)']
                case "bag":
                    options += [f"({e}[0] if {e} else 0.25)", f"sum({e})"]
                case "opt":
                    options += [f"(0.5 if {e} is None else {e})"]
                case "hist":
                    options += [f"({e}[-1] if {e} else 0.25)", f"sum({e})"]
                case _:
                    pass
        return self.pick(options)

    def vec(self, s: Scope, depth: int = 2) -> str:
        """An expression that broadcasts with shape (2,)."""
        kinds = ["leaf", "leaf", "times", "plus", "tanh", "where", "if"]
        callees = [c for c in s.callees if c.tags <= s.allowed and not c.raises]
        kinds += ["call"] * bool(callees) + ["act"] * bool(s.of("act")) + ["map"] * bool(s.of("layers"))
        kinds += ["grad", "vmap"] * (s.transforms < 2)
        kind = self.pick(kinds) if depth > 0 else "leaf"
        match kind:
            case "times":
                n = self.num(s)
                return f"{self.vec(s, depth - 1)} * {n or 0.5}"
            case "plus":
                return f"({self.vec(s, depth - 1)} + {self.vec(s, depth - 1)})"
            case "tanh":
                return f"jnp.tanh({self.vec(s, depth - 1)})"
            case "where":
                return f"jnp.where({self.leaf(s)} > 0.1375, {self.vec(s, depth - 1)}, 0.5)"
            case "if":
                return f"({self.vec(s, depth - 1)} if {self.test(s)} else {self.leaf(s)})"
            case "call":
                callee = self.pick(callees)
                s.tags |= callee.tags
                return f"{callee.expr}({self.full(s)})"
            case "act":
                return f"{self.pick(s.of('act')).expr}({self.full(s)})"
            case "map":
                e = self.pick(s.of("layers")).expr
                return self.pick(
                    [f"sum(l({self.full(s)}) for l in {e})", f"[l({self.full(s)}) for l in {e}][0]"]
                )
            case "grad":
                self.transforms = True
                inner = s.inner(ON_THE_SIDE, ["u"], False)
                body = self.vec(inner, depth - 1)
                return f"jax.grad(lambda u: jnp.sum(jnp.tanh(u + {body})))({self.full(s)})"
            case "vmap":
                self.transforms = True
                u = self.name("u")  # its own name: what is written inside may use outer variables
                body = self.vec(s.inner(BATCH, [u], True), depth - 1)
                return f"jax.vmap(lambda {u}: {u} + {body})(jnp.stack([{self.full(s)}, jnp.ones(2)])).mean(0)"
            case _:
                return self.leaf(s)

    def full(self, s: Scope) -> str:
        """A vec of exactly shape (2,)."""
        return self.pick([s.local[-1], f"jnp.tanh({s.local[-1]} + {self.leaf(s)})"])

    def value(self, s: Scope) -> str:
        """A new value for an array place: bounded, of shape (2,), not dependent on a lane."""
        if s.lane:
            return f"jnp.tanh({s.safe[-1]} + {self.leaf(Scope(s.places, [], local=s.safe))})"
        return f"jnp.tanh({s.local[-1]} + {self.vec(s, 1)})"

    def test(self, s: Scope) -> str:
        """A condition that Python can decide."""
        options: list[str] = ["True"]
        for p in s.places:
            e = p.expr
            match p.kind:
                case "flag":
                    options += [e, f"not {e}"]
                case "num":
                    options += [f"{e} > 2", f"{e} % 2 == 0", f"1 < {e} <= 4", f"{e} == 1", f"bool({e})"]
                case "rate":
                    options += [f"{e} > 0.4", f"{e} < 0.3"]
                case "mode":
                    options += [f'{e} == "a"', f'{e} in ("b", "c")']
                case "opt":
                    options += [f"{e} is None", f"{e} is not None"]
                case "lim":
                    options += [f"{e}[0] > 0.3", f"bool(jnp.all({e} < 0.9))", f"float({e}.sum()) > 0.6"]
                case "buf":
                    options += [f"{e}[0] > 0.3", f"{e}.max() > 0.9"]
                case "hist":
                    options += [f"len({e}) > 1", f"not {e}"]
                case "tab":
                    options += [f'"c" in {e}', f"len({e}) > 2"]
                case "cfg":
                    options += [f'"more" in {e}', f'{e}["names"] == ["a"]', f'{e}["deep"]["rate"] > 0.4']
                case "tags":
                    options += [f'"t" in {e}', f"len({e}) == 1", f'{e} == {{"t"}}']
                case "win":
                    options += [f"len({e}) == 2"]
                case "part":
                    options += [f"isinstance({e}, P0)", f"{e}.k > 1", f'type({e}).__name__ == "P0"']
                case "layers":
                    options += [f"{e}[0] is {e}[-1]", f"len({e}) > 2"]
                case "act":
                    options += [f"{e} is jnp.sin", f"{e} is helper0"]
                case "count":
                    options += [f'{e}["a"] > 1', f'"b" in {e}']
                case "lazy":
                    options += [f'bool({e}.get("a"))', f'"b" in {e}']
                case "stats":
                    options += [
                        f'{e}["n"] > 1',
                        f'"extra" in {e}',
                        f'not {e}["losses"]',
                        f'{e}["best"] is None',
                    ]
                case "order":
                    options += [f'next(iter({e})) == "a"', f'"c" in {e}', f'{e} == {{"b": 1}}']
                case "bag":
                    options += [f"bool({e})", f"{e}.taken > 1"]
                case "recs":
                    options += [f'any(r["n"] > 2 for r in {e})', f'{e}[0]["n"] == {e}[-1]["n"]']
                case "pair" | "tup":
                    options += [f"{e}[1] > 1"]
                case _:
                    pass
        arrays = s.of("vec", "fixed")
        if len(arrays) > 1:
            options.append(f"{arrays[0].expr} is {arrays[-1].expr}")
        if s.me is not None:
            options += [f'hasattr({s.me}, "late")', f'getattr({s.me}, "late", None) is None']
        return self.pick(options)

    # ------------------------------------------------------------ statements

    def block(self, s: Scope, most: int, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.count(1, most)):
            lines += self.statement(s, depth)
        return lines

    def statement(self, s: Scope, depth: int) -> list[str]:
        options: list[Callable[[], list[str]]] = [
            lambda: [f"{s.local[-1]} = jnp.tanh({s.local[-1]} + {self.vec(s)})"]
        ]
        options += self._writes(s)
        if depth > 0:
            options += [lambda: self._if(s, depth), lambda: self._try(s, depth), lambda: self._for(s, depth)]
            if s.of("num", "rate", "mode", "opt"):
                options.append(lambda: self._match(s, depth))
            if s.may("py") and not s.lane and any(p.assign for p in s.of("num")):
                options.append(lambda: self._with(s, depth))
            if s.transforms < 2:
                options += [
                    lambda: self._scan(s, depth),
                    lambda: self._cond(s, depth),
                    lambda: self._side(s, depth),
                ]
                options += [lambda: self._fori(s, depth), lambda: self._vmap(s, depth)]
        return self.pick(options)()

    def _writes(self, s: Scope) -> list[Callable[[], list[str]]]:
        found: list[Callable[[], list[str]]] = []
        for p in s.places:
            found += [lambda p=p, o=o: self._write(s, p, o) for o in self._write_options(s, p)]
        callees = [c for c in s.callees if c.tags and c.tags <= s.allowed and not c.raises]
        if callees:
            found.append(lambda: self._call(s, self.pick(callees)))
        raising = [c for c in s.callees if c.raises and c.tags <= s.allowed]
        if raising:
            found.append(lambda: self._call_raising(s, self.pick(raising)))
        if s.me is not None and s.may("py"):
            found += [lambda o=o: self._write(s, Place(s.me or "", "late"), o) for o in self._late(s.me)]
        return found

    def _call(self, s: Scope, c: Callee) -> list[str]:
        s.tags |= c.tags
        return [f"{s.local[-1]} = {c.expr}({self.full(s)})"]

    def _call_raising(self, s: Scope, c: Callee) -> list[str]:
        s.tags |= c.tags
        v = s.local[-1]
        return ["try:", f"    {v} = {c.expr}({v})", "except ValueError:", f"    {v} = {v} * 0.5"]

    @staticmethod
    def _late(me: str) -> list[tuple[str, str]]:
        return [
            ("py", f"{me}.late = VALUE"),
            ("py", f'if not hasattr({me}, "late"):\n    {me}.late = VALUE'),
            ("py", f'if hasattr({me}, "late"):\n    del {me}.late'),
            ("py", f'{me}.__dict__["late"] = VALUE'),
            ("py", f'vars({me}).pop("late", None)'),
        ]

    def _write(self, s: Scope, p: Place, option: tuple[str, str]) -> list[str]:
        tag, text = option
        s.wrote(tag, p)
        if "VALUE" in text or "LOCAL" in text:
            s.wrote("arr")
        if tag == "py" and not text.endswith((" += 1", " *= 0.5")):
            self.steady = False
        v = s.safe[-1] if s.lane else s.local[-1]
        lines = text.replace("LOCAL", v).split("\n")
        return [line.replace("VALUE", self.value(s)) if "VALUE" in line else line for line in lines]

    def _write_options(self, s: Scope, p: Place) -> list[tuple[str, str]]:
        e, options = p.expr, []
        bound = p.assign
        match p.kind:
            case "fixed":
                options = [
                    ("arr", f"{e} = VALUE"),
                    ("arr", f"{e} += 0.125 * LOCAL"),
                    ("free", f"{e} = jnp.tanh({e})"),
                ]
                options += [("py", f"{e} = {q.expr}") for q in s.of("fixed")[-1:] if q != p]
            case "vec":
                options = [("py", f"{e} = VALUE"), ("py", f"{e} = jnp.tanh({e})")]
                options += [("py", f"{e} = {q.expr}") for q in s.of("vec")[-1:] if q != p]
            case "num":
                options = [
                    ("py", f"{e} += 1"),
                    ("py", f"{e} = ({e} * 3 + 1) % 7"),
                    ("py", f"{e} -= {e} // 2"),
                ]
            case "rate":
                options = [("py", f"{e} *= 0.5"), ("py", f"{e} = {e} * 0.5 + 0.125")]
            case "flag":
                options = [("py", f"{e} = not {e}"), ("py", f"{e} = False")]
            case "mode":
                options = [("py", f'{e} = "b" if {e} == "a" else "a"'), ("py", f'{e} = "c"')]
            case "opt":
                options = [
                    ("py", f"{e} = VALUE"),
                    ("py", f"{e} = None"),
                    ("py", f"if {e} is None:\n    {e} = VALUE"),
                ]
            case "key":
                n = self.names
                options = [
                    (
                        "free",
                        f"{e}, k{n} = jax.random.split({e})\n"
                        f"LOCAL = LOCAL + 0.1 * jax.random.normal(k{n}, (2,))",
                    )
                ]
                if s.lane:
                    options = []
            case "act":
                options = [
                    ("py", f"{e} = jnp.sin"),
                    ("py", f"{e} = helper0"),
                    ("py", f"{e} = lambda u: u * 0.5"),
                ]
                options += [
                    ("py", f"{e} = lambda u, a=VALUE: u * a"),
                    ("py", f"act = {e}\n{e} = lambda u: act(u) * 0.5"),
                ]
            case "pair":
                options = [("py", f"{e} = {e}._replace(w=VALUE)"), ("py", f"{e} = Pair(VALUE, {e}.k + 1)")]
                options += [("py", f"{e} = {e}._replace(k={e}.k % 3 + 1)")]
            case "tup":
                options = [("py", f"{e} = (VALUE, {e}[1])"), ("py", f"{e} = (VALUE, {e}[1] % 3 + 1)")]
            case "part":
                options = [("py", f"{e} = P0(VALUE, 2)"), ("py", f"{e} = copy.copy({e})")]
                options += [("py", f"{e} = {q.expr}") for q in s.of("part") if q != p]
        if not bound:
            options = []
        match p.kind:
            case "ws":
                options += [
                    ("arr", f"{e}[0] = VALUE"),
                    ("arr", f"{e}[-1] += 0.125 * LOCAL"),
                    ("py", f"{e}.reverse()"),
                ]
                options += [("py", f"{e}[0], {e}[1] = {e}[1], {e}[0]"), ("arr", f"ws = {e}\nws[0] = VALUE")]
                options += [("py", f"{e}[0] = {e}[1]"), ("py", f"{e}[:] = [VALUE, {e}[0]]")]
                if e == "held":  # arrays of arguments are new ones inside, so aliases with them are not kept
                    options = [("arr", f"{e}[0] = VALUE"), ("py", f"{e}[:] = [VALUE, VALUE]")]
                if bound:
                    options += [
                        ("py", f"{e} = [VALUE, {e}[0]]"),
                        ("py", f"{e} = {e}[::-1]"),
                        ("py", f"{e} = list({e})"),
                    ]
            case "hist":
                options += [
                    ("py", f"{e}.append(VALUE)"),
                    ("py", f"{e}.append(VALUE)\nif len({e}) > 2:\n    {e}.pop(0)"),
                ]
                options += [("py", f"{e}.clear()"), ("py", f"del {e}[:1]"), ("py", f"{e}.insert(0, VALUE)")]
                options += [("py", f"{e}[:] = {e}[-2:]"), ("py", f"{e}.extend([VALUE, LOCAL * 2])")]
                if bound:
                    options += [("py", f"{e} = [*{e}[-1:], VALUE]"), ("py", f"{e} += [VALUE]")]
            case "tab":
                options += [
                    ("arr", f'{e}["a"] = VALUE'),
                    ("arr", f'{e}["b"] += 0.125 * LOCAL'),
                    ("arr", f"{e}.update(a=VALUE)"),
                ]
                options += [
                    ("py", f'{e}["c"] = VALUE'),
                    ("py", f'{e}.pop("c", None)'),
                    ("py", f'{e}.setdefault("c", VALUE)'),
                ]
                options += [
                    ("py", f'{e}["a"] = {e}.pop("a")'),
                    ("py", f'{e}["a"], {e}["b"] = {e}["b"], {e}["a"]'),
                ]
                options += [("py", f'{e}["n"] = {e}.get("n", 0) + 1')]
                if bound:
                    options += [("py", f'{e} = {{**{e}, "a": VALUE}}'), ("py", f"{e} = dict({e})")]
            case "cfg":
                options += [("py", f'{e}["deep"]["rate"] *= 0.5'), ("arr", f'{e}["deep"]["w"] = VALUE')]
                options += [
                    ("py", f'{e}["names"].append("b")'),
                    ("py", f'{e}["more"] = 2.0'),
                    ("py", f'{e}.pop("more", 0)'),
                ]
                options += [
                    ("py", f'{e}["deep"] = {{"rate": 0.25, "w": VALUE}}'),
                    ("py", f'{e}["deep"] = dict({e}["deep"])'),
                ]
            case "buf":
                options += [
                    ("np", f"{e}[0] = 0.75"),
                    ("np", f"{e} *= 0.5" if p.binding is None else f"{e}[:] = {e} * 0.5"),
                ]
            case "log":
                options += [("np", f"{e}[0] = LOCAL[0]"), ("np", f"{e}[1:] = LOCAL")]
            case "tags":
                options += [("py", f'{e}.add("u")'), ("py", f'{e}.discard("t")'), ("py", f'{e} ^= {{"w"}}')]
                if not bound:
                    options.pop()
            case "win":
                options += [
                    ("py", f"{e}.append(VALUE)"),
                    ("py", f"{e}.rotate(1)"),
                    ("py", f"{e}.appendleft(VALUE)"),
                ]
                options += [("arr", f"{e}[0] = VALUE")]
            case "count":
                options += [("py", f'{e}["a"] += 1'), ("py", f'{e}.update("ab")'), ("py", f'{e}["b"] -= 1')]
            case "lazy":
                options += [
                    ("py", f'{e}["a"].append(VALUE)'),
                    ("py", f'{e}["b"]'),
                    ("py", f'{e}.pop("a", None)'),
                ]
                options += [("py", f'{e}.get("a", []).append(VALUE)'), ("py", f'{e}["a"] += [VALUE]')]
            case "stats":
                options += [
                    ("py", f'{e}["n"] += 1'),
                    ("py", f'{e}["losses"].append(VALUE)'),
                    ("py", f'{e}.setdefault("extra", []).append(VALUE)'),
                    ("py", f'{e}["best"] = VALUE'),
                ]
                options += [
                    ("py", f'st = {e}\nst["n"] += 1\nst["losses"].append(VALUE)'),
                    ("py", f'ls = {e}["losses"]\nls.append(VALUE)\nls.extend([LOCAL, LOCAL * 2])'),
                    ("py", f'{e}["losses"] += [VALUE]'),
                    ("py", f'{e}.get("losses").append(VALUE)'),
                    ("py", f'if {e}["best"] is None:\n    {e}["best"] = VALUE'),
                ]
                options += [
                    ("py", f'for key in ("losses", "extra"):\n    {e}.setdefault(key, []).append(VALUE)'),
                    ("py", f"for _, q in {e}.items():\n    if isinstance(q, list):\n        q.append(VALUE)"),
                    ("py", f"[part.append(VALUE) for part in {e}.values() if type(part) is list]"),
                    ("py", f'{e}.pop("extra", None)'),
                    ("py", f'{e}["losses"] = {e}["losses"][-1:]'),
                    ("py", f'{e}.update(n={e}["n"] + 2)'),
                    ("py", f'{e}["losses"].append({{"v": VALUE, "n": {e}["n"]}}["v"])'),
                ]
            case "order":
                options += [
                    ("arr", f'{e}["a"] = VALUE'),
                    ("py", f'{e}.move_to_end("a")'),
                    ("py", f'{e}["b"] = {e}["b"] % 3 + 1'),
                    ("py", f'{e}["c"] = VALUE\n{e}.move_to_end("c", last=False)'),
                    ("py", f'{e}.pop("c", None)'),
                    ("py", f'{e}["a"] = {e}.pop("a")'),
                ]
            case "recs":
                options += [
                    ("py", f'{e}.append({{"v": VALUE, "n": len({e}) + 1}})'),
                    ("py", f'{e}.append({{"v": VALUE, "n": 0}})'),
                    ("py", f'{e}[-1]["n"] += 1'),
                    ("arr", f'{e}[0]["v"] = VALUE'),
                    ("py", f"{e}.append({e}[0])"),
                    ("py", f'{e}.sort(key=lambda r: r["n"])'),
                    ("py", f"{e}[:] = [dict(r, v=VALUE) for r in {e}[-2:]]"),
                ]
            case "bag":
                options += [
                    ("py", f"{e}.append(VALUE)"),
                    ("py", f"{e}.take()"),
                    ("py", f"{e}.taken += 1"),
                    ("py", f"{e}[:] = [VALUE]"),
                    ("py", f"{e}.extend([VALUE, LOCAL])"),
                ]
                if bound:
                    options += [("py", f"{e} = Bag({e}[-1:])"), ("py", f"{e} += [VALUE]")]
            case "part":
                tag = self.part_tag
                options += [
                    (tag, f"{e}.bump({{V}})"),
                    ("py", f"{e}.tick()"),
                    (tag, f"q = {e}\nq.bump({{V}})"),
                ]
                options += [(tag, f"{e}.w = VALUE"), ("py", f"{e}.k += 1")] * self.parts_assignable
                options = [(t, o.replace("{V}", "LOCAL")) for t, o in options]
            case "layers":
                options += [
                    (self.part_tag, f"for l in {e}:\n    l.bump(LOCAL)"),
                    ("py", f"{e}.reverse()"),
                    ("py", f"{e}[0].tick()"),
                ]
                options += [
                    ("py", f"{e}.append(P0(VALUE, 1))\ndel {e}[:1]"),
                    ("py", f"{e}[0], {e}[1] = {e}[1], {e}[0]"),
                ]
                options += [("py", f"{e}[0] = copy.copy({e}[0])"), ("py", f"{e}[0] = {e}[1]")]
            case _:
                pass
        if s.lane:  # an augmented assignment of LOCAL is one of a safe local; reading it first is fine
            return [
                (t, o)
                for t, o in options
                if (t in s.allowed and "bump" not in o) or (t == "arr" and "bump" not in o)
            ]
        return [(t, o) for t, o in options if t in s.allowed]

    parts_assignable, part_tag = True, "arr"

    def _if(self, s: Scope, depth: int) -> list[str]:
        self.steady = False
        lines = [f"if {self.test(s)}:", *indent(self.block(s, 2, depth - 1))]
        if self.chance():
            lines += ["else:", *indent(self.block(s, 2, depth - 1))]
        return lines

    def _try(self, s: Scope, depth: int) -> list[str]:
        self.steady = False
        v = s.local[-1]
        risky: list[tuple[str, str]] = [("KeyError", f'if {self.test(s)}:\n    raise KeyError("stop")')]
        for p in s.places:
            match p.kind:
                case "num":
                    risky.append(("ZeroDivisionError", f"{v} = {v} * (1 / ({p.expr} % 3))"))
                    risky += [("IndexError", f"{v} = {v} + {h.expr}[{p.expr}]") for h in s.of("hist", "ws")]
                case "tab":
                    risky.append(("KeyError", f'{v} = {v} + {p.expr}["c"]'))
                    risky += [("KeyError", f"{v} = {v} + {p.expr}[{m.expr}]") for m in s.of("mode")]
                case "hist":
                    risky.append(("IndexError", f"{v} = {v} + {p.expr}[-1]"))
                case _:
                    pass
        if s.me is not None:
            risky.append(("AttributeError", f"{v} = {v} + {s.me}.late"))
        error, text = self.pick(risky)
        lines = ["try:"]
        if self.chance():
            lines += indent(self.block(s, 1, depth - 1))
        lines += indent(text.split("\n"))
        if self.chance():
            lines += indent(self.block(s, 1, depth - 1))
        lines += [f"except {error}:", *indent(self.block(s, 2, depth - 1))]
        if self.chance(4):
            lines += ["finally:", *indent(self.block(s, 1, depth - 1))]
        return lines

    def _match(self, s: Scope, depth: int) -> list[str]:
        self.steady = False
        subject = self.pick(s.of("num", "rate", "mode", "opt"))
        case = {"num": "1 | 2", "rate": "float(0.5)", "mode": 'str("a")', "opt": "None"}[subject.kind]
        first = ["case " + case + ":", *indent(self.block(s, 2, depth - 1))]
        rest = [
            "case other:",
            f"    {s.local[-1]} = {s.local[-1]} * 0.75",
            *indent(self.block(s, 1, depth - 1)),
        ]
        return [f"match {subject.expr}:", *indent([*first, *rest])]

    def _with(self, s: Scope, depth: int) -> list[str]:
        self.steady = False
        place = self.pick([p for p in s.of("num") if p.assign])
        s.wrote("py", place)
        name = self.name("c")
        held = [f"{place.expr} += 1", "try:", "    yield", "finally:", f"    {place.expr} -= 1"]
        if place.binding is not None:
            held.insert(0, place.binding)
        lines = ["@contextlib.contextmanager", f"def {name}():", *indent(held)]
        return [*lines, f"with {name}():", *indent(self.block(s, 2, depth - 1))]

    def _for(self, s: Scope, depth: int) -> list[str]:
        self.steady = False
        name, v = self.name("i"), s.local[-1]
        heads = [f"for {name} in range(2):"]
        heads += [f"for {name} in range({p.expr} % 3):" for p in s.of("num")]
        heads += [f"for {name} in range(len({p.expr})):" for p in s.of("hist", "layers")]
        heads += [f"for {name}, _ in enumerate(list({p.expr})):" for p in s.of("ws", "tab")]
        heads += [f"{name} = 0\nwhile {name} < {p.expr} % 4:\n    {name} += 1" for p in s.of("num")]
        head = self.pick(heads).split("\n")
        return [*head, f"    {v} = jnp.tanh({v} + 0.25 * {name})", *indent(self.block(s, 2, depth - 1))]

    # ------------------------------------------------------------ transforms

    def _define(self, name: str, args: str, inner: Scope, body: list[str], result: str) -> list[str]:
        bindings = sorted(inner.bindings)
        return [f"def {name}({args}):", *indent([*bindings, *body, f"return {result}"])]

    def _scan(self, s: Scope, depth: int) -> list[str]:
        self.transforms = True
        name, v = self.name("body"), s.local[-1]
        inner = s.inner(LOOP, ["t", "c"], False)
        body = self.block(inner, 2, depth - 1)
        lines = self._define(name, "c, t", inner, body, f"jnp.tanh(c + t), {self.vec(inner, 1)} + c")
        return [*lines,
                f"{v}, rows = jax.lax.scan({name}, jnp.zeros(2) + {v}, jnp.stack([{v}, jnp.ones(2), {v}]))",
                f"{v} = {v} + rows.mean(0)"]  # fmt: skip

    def _fori(self, s: Scope, depth: int) -> list[str]:
        self.transforms = True
        name, v = self.name("body"), s.local[-1]
        inner = s.inner(LOOP, ["c"], False)
        body = self.block(inner, 2, depth - 1)
        if not s.may("while") or self.chance():
            lines = self._define(name, "i, c", inner, body, "jnp.tanh(c + 0.25 * i)")
            return [*lines, f"{v} = jax.lax.fori_loop(0, 3, {name}, {v})"]
        s.tags.add("while")
        lines = self._define(name, "ic", inner, ["i, c = ic", *body], "i + 1, jnp.tanh(c)")
        return [*lines, f"{v} = jax.lax.while_loop(lambda ic: ic[0] < 3, {name}, (jnp.int32(0), {v}))[1]"]

    def _cond(self, s: Scope, depth: int) -> list[str]:
        self.transforms = True
        v = s.local[-1]
        lines: list[str] = []
        names = []
        for _ in range(2):
            names.append(self.name("branch"))
            inner = s.inner(LOOP, ["c"], False)
            lines += self._define(names[-1], "c", inner, self.block(inner, 2, depth - 1), "jnp.tanh(c)")
        if s.lane:
            which = "jnp.float32(0.5) > 0.25"
        else:
            which = f"jnp.sum({self.leaf(Scope(s.places, [], local=[v]))}) > 0.3137"
            s.tags.add("arr")  # not in vmap: a branch for each lane writes for each lane
        if self.chance():
            return [*lines, f"{v} = jax.lax.cond({which}, {names[0]}, {names[1]}, {v})"]
        return [*lines, f"{v} = jax.lax.switch(jnp.int32({which}), [{', '.join(names)}], {v})"]

    def _side(self, s: Scope, depth: int) -> list[str]:
        self.transforms = True
        name, v = self.name("loss"), s.local[-1]
        inner = s.inner(ON_THE_SIDE, ["u"], False)
        body = self.block(inner, 2, depth - 1)
        match self.pick(["grad", "value_and_grad", "checkpoint", "vjp", "jvp"]):
            case "grad":
                lines = self._define(name, "u", inner, body, f"jnp.sum(jnp.tanh(u + {self.vec(inner, 1)}))")
                return [*lines, f"{v} = jnp.tanh({v} + jax.grad({name})({v}))"]
            case "value_and_grad":
                lines = self._define(name, "u", inner, body, "jnp.sum(jnp.tanh(u))")
                return [
                    *lines,
                    f"value, slope = jax.value_and_grad({name})({v})",
                    f"{v} = jnp.tanh(value + slope)",
                ]
            case "checkpoint":
                lines = self._define(name, "u", inner, body, f"jnp.tanh(u + {self.vec(inner, 1)})")
                return [*lines, f"{v} = jax.checkpoint({name})({v})"]
            case "vjp":
                lines = self._define(name, "u", inner, body, "jnp.tanh(u)")
                return [*lines, f"{v}, pull = jax.vjp({name}, {v})", f"{v} = {v} + pull(jnp.ones(2))[0]"]
            case _:
                lines = self._define(name, "u", inner, body, "jnp.tanh(u)")
                return [*lines, f"{v}, slope = jax.jvp({name}, ({v},), (jnp.ones(2),))", f"{v} = {v} + slope"]

    def _vmap(self, s: Scope, depth: int) -> list[str]:
        self.transforms = True
        name, u, v = self.name("lane"), self.name("u"), s.local[-1]
        inner = s.inner(BATCH, [u], True)
        body = self.block(inner, 2, depth - 1)
        lines = self._define(name, u, inner, body, f"{u} + {self.vec(inner, 1)}")
        return [*lines, f"{v} = jax.vmap({name})(jnp.stack([{v}, jnp.ones(2)])).mean(0)"]

    # ------------------------------------------------------------ functions and classes

    def function(
        self, name: str, args: str, s: Scope, start: list[str], most: int, result: str, depth: int = 2
    ) -> list[str]:
        body = [*start, *self.block(s, most, depth)]
        return [f"def {name}({args}):", *indent([*sorted(s.bindings), *body, f"return {result}"])]

    def initial(self, kind: str) -> str:
        text = INITIAL[kind]
        part = (
            f"P{self.count(0, len(self.styles) - 1)}(jnp.array({self.pick(ARRAYS)}), {self.pick([1, 2])})"
            if "{p}" in text
            else ""
        )
        return text.format(a=self.pick(ARRAYS), p=part)

    def part_class(self, index: int, style: str, globals_: list[Place], helpers: list[Callee]) -> list[str]:
        """A class with `w` (an array), `k` (a number), a call, `bump` and `tick`."""
        name = f"P{index}"
        places = [Place("self.w", "fixed"), Place("self.k", "num")]
        places += [p for p in globals_ if p.kind in ("vec", "num", "rate", "flag", "mode")]
        s = Scope(places, helpers, allowed=frozenset())
        call = [
            "def __call__(self, v):",
            *indent([f"return jnp.tanh({self.vec(s)} + self.w * self.scale * v + 0.1 * self.k)"]),
        ]
        bump = ["def bump(self, v):", "    self.w = jnp.tanh(self.w + 0.25 * v)"]
        tick = ["def tick(self):", "    self.k += 1"]
        init = ["def __init__(self, w, k):", "    self.w = w", "    self.k = k"]
        head, before = f"class {name}:", ["scale = 1.5"]
        match style:
            case "slots":
                before = ['__slots__ = ("w", "k")', "scale = 1.5"]
            case "dataclass":
                head, init = f"@dataclasses.dataclass\nclass {name}:", ["w: object", "k: int = 1"]
            case "frozen":
                head, init = (
                    f"@dataclasses.dataclass(frozen=True, eq=False)\nclass {name}:",
                    ["w: object", "k: int = 1"],
                )
                bump = [
                    "def bump(self, v):",
                    '    object.__setattr__(self, "w", jnp.tanh(self.w + 0.25 * v))',
                ]
                tick = ["def tick(self):", '    object.__setattr__(self, "k", self.k + 1)']
            case "property":
                init += [
                    "@property",
                    "def w(self):",
                    "    return self._w",
                    "@w.setter",
                    "def w(self, value):",
                    "    self._w = value",
                ]
            case "descriptor":
                before += ["w = Unit()"]
            case "getattr":
                init = GETATTR.splitlines()
            case "setattr":
                init += SETATTR.splitlines()
            case "child" if index > 0:
                head, init = f"class {name}(P{index - 1}):", ["scale = 0.75"]
                before, bump, tick = [], [], ["def tick(self):", "    super().tick()"]
                call = ["def __call__(self, v):", "    return super().__call__(v) * 0.5"]
            case _:
                pass
        return [*head.split("\n"), *indent([*before, *init, *call, *bump, *tick])]

    def write(self) -> Program:
        lines = HEAD.splitlines()
        # --- the module: globals, helpers, parts
        self.styles = [self.pick(PARTS) for _ in range(self.count(1, 2))]
        if self.styles[0] == "child":
            self.styles[0] = "plain"
        frozen = [i for i, style in enumerate(self.styles) if style == "frozen"]
        if frozen == [0] and len(self.styles) > 1 and self.styles[1] == "child":
            self.styles[1] = "plain"
        self.parts_assignable = not frozen
        self.part_tag = "py" if "setattr" in self.styles else "arr"  # the count is a Python number
        global_kinds = self.some([k for k in KINDS if k not in ("part", "layers", "act")], 3)
        globals_ = [Place(f"{kind.upper()}", kind, f"global {kind.upper()}") for kind in global_kinds]
        helpers: list[Callee] = []
        body: list[str] = [f"{p.expr} = {self.initial(p.kind)}" for p in globals_]
        for i in range(2):
            s = Scope(globals_, helpers[:], allowed=ALL if i else frozenset())
            body += ["", *self.function(f"helper{i}", "v, k=0.5", s, [], 1, "v * k", 1)]
            helpers.append(Callee(f"helper{i}", frozenset(s.tags)))
        self.effects = helpers[1].tags  # where it is put in another's place, that one must be allowed them
        for i, style in enumerate(self.styles):
            body += ["", "", *self.part_class(i, style, globals_, [h for h in helpers if not h.tags])]
        # --- program: cells, Model, functions
        kinds = KINDS
        tally = self.chance(4)
        if tally:
            body += ["", "", *self.pick([["@counted"], []]), "def tally(v):", "    return v * 0.5"]
            body += ["", "", "tally.calls, tally.scale, tally.w = 0, 1.0, jnp.ones(2)"]
            globals_ = [
                *globals_,
                Place("tally.calls", "num"),
                Place("tally.scale", "rate"),
                Place("tally.w", "fixed"),
            ]
        cells = [Place(f"{kind}_", kind, f"nonlocal {kind}_") for kind in self.some(kinds, 3)]
        fields = [(kind, kind) for kind in self.some(kinds, 6)]
        if self.chance():
            kind = self.pick(["fixed", "vec", "num", "part", "ws", "tab", "hist"])
            fields.append((kind + "2", kind))
        model, entries = self.model(fields, globals_, cells, helpers)
        main: list[str] = [f"{p.expr} = {self.initial(p.kind)}" for p in cells]
        main += ["", *model, "", "model = Model()"]
        twin = self.chance()
        if twin:
            main += ["twin = Model()"]
            main += [f"twin.{name} = model.{name}" for name, _ in self.some(fields, 2)]
        targets = [(f"model.{name}", extra) for name, extra, jitted in entries if jitted]
        if twin:
            targets += [(f"twin.{name}", extra) for name, extra, jitted in entries if jitted]
        for name, extra, jitted in entries:
            if not jitted:
                run = self.name("run")
                main.append(f"{run} = jit(model.{name})")
                targets.append((run, extra))
        places = [Place(f"model.{name}", kind) for name, kind in fields]
        for i in range(self.count(0, 2)):
            text, extra = self.entry(
                f"f{i}", "", [*places, *cells, *globals_], [*helpers, *self.methods], None, True
            )
            main += ["", *text]
            targets.append((f"f{i}", extra))
        # --- what happens
        main.append("")
        edits = calls = 0
        reachable = [*places, *cells, *globals_]
        if twin:
            reachable += [Place(f"twin.{name}", kind) for name, kind in fields]
        varied = self.varied
        for _ in range(self.count(2, 9)):
            if self.chance() and calls:
                main += self.edit(reachable, [*targets])
                edits += 1
            else:
                main += self.call(self.pick(targets), varied, reachable)
                calls += 1
        if self.steady and targets[0][1] != "part":
            held = ", [jnp.ones(2), jnp.zeros(2)]" if targets[0][1] == "ws" else ""
            main += ["for _ in range(5):", f"    look({targets[0][0]}, jnp.array({ARRAYS[0]}){held})"]
        else:
            self.steady = False
        for p in reachable:
            if p.binding and p.binding.startswith("global"):
                main.insert(0, p.binding)
        main = [
            "global helper0, helper1",
            *main,
            'return {"seen": look.rows, "state": look.state(globals(), locals())}',
        ]
        source = "\n".join([*lines, *body, "", "", "def program(jit):", *indent(main)]) + "\n"
        source = "\n".join(line.rstrip() for line in source.split("\n"))
        return Program(source, self.transforms, False, self.steady, edits, calls)

    def model(self, fields: Any, globals_: list[Place], cells: list[Place], helpers: list[Callee]) -> Any:
        me = [Place(f"self.{name}", kind) for name, kind in fields]
        extras: list[str] = ["total = jnp.zeros(2)", "scale = 0.5"]
        by_kind = {kind: name for name, kind in fields}
        if "rate" in by_kind and self.chance():
            extras += ["@property", "def gain(self):", "    return self.rate * 2.0",
                       "@gain.setter", "def gain(self, value):", "    self.rate = value * 0.5"]  # fmt: skip
            me.append(Place("self.gain", "rate"))
        base = self.pick(["", "(Base)"])
        head = [f"class Model{base}:"]
        if base:
            head = ["class Base:", "    def base(self, v):", "        return v * self.scale", "", *head]
        if self.chance(6):
            names = ", ".join(f'"{name}"' for name, _ in fields)
            if not base:
                extras.insert(
                    0,
                    f'__slots__ = ({names}{"," if names else ""} "late", "__weakref__")'
                    if names
                    else '__slots__ = ("late",)',
                )
            slots = not base
        else:
            slots = False
        if self.chance():
            me += [Place("Model.total", "fixed"), Place("self.scale", "rate", assign=not slots)]
        init = [
            "def __init__(self):",
            *indent([f"self.{name} = {self.initial(kind)}" for name, kind in fields] or ["pass"]),
        ]
        for i, (name, kind) in enumerate(fields):  # aliases within the instance
            if name.endswith("2") and self.chance() and any(n == kind for n, _ in fields[:i]):
                init.append(f"    self.{name} = self.{kind}")
        lines = [*head, *indent([*extras, *init])]
        self.methods: list[Callee] = []
        callees = [*helpers, *([Callee("self.base", frozenset())] if base else [])]
        places = [*me, *cells, *globals_]
        for i in range(self.count(0, 2)):
            s = Scope(places, callees[:], me=None if slots else "self")
            text = self.function(f"m{i}", "self, v", s, [], 2, f"v * {self.num(s) or 1.0}", 2)
            if self.chance():
                text.insert(0, "@jit")
            lines += ["", *indent(text)]
            callees.append(Callee(f"self.m{i}", frozenset(s.tags)))
            self.methods.append(Callee(f"model.m{i}", frozenset(s.tags)))
        self.varied = self.chance(3)
        entries = []
        for i in range(self.count(1, 2)):
            jitted = not self.chance(3)
            text, extra = self.entry(f"step{i}", "self, ", places, callees, None if slots else "self", jitted)
            lines += ["", *indent(text)]
            entries.append((f"step{i}", extra, jitted))
        return lines, entries

    def entry(
        self, name: str, first: str, places: list[Place], callees: list[Callee], me: str | None, jitted: bool
    ) -> Any:
        extra = self.pick(["", "", "how", "part", "ws"])
        args = f"{first}x"
        own: list[Place] = []
        match extra:
            case "how":
                args, own = args + ', how="a"', [Place("how", "mode", assign=False)]
            case "part":
                args, own = args + ", p", [Place("p", "part", assign=False)]
            case "ws":
                args, own = args + ", held", [Place("held", "ws", assign=False)]
            case _:
                pass
        s = Scope([*own, *places], callees, me=me)
        start = ["v = jnp.zeros(2) + jnp.mean(x)" if self.varied else "v = x"]
        modes = s.of("mode")
        if modes and self.chance(3):
            start.insert(0, f'if {modes[0].expr} == "bad":\n    raise ValueError("bad")')
        result = ["v"]
        for p in self.some([p for p in s.places if p.kind not in ("log", "key", "vec", "lim")], 1):
            result.append(p.expr)
        if self.chance(4):
            result.append(self.test(s))
        flat = [line for text in start for line in text.split("\n")]
        text = self.function(name, args, s, flat, 4, ", ".join(result), 2)
        return ([*(["@jit"] if jitted else []), *text]), extra

    def call(self, target: tuple[str, str], varied: bool, places: list[Place]) -> list[str]:
        name, extra = target
        x = f"jnp.array({self.pick(ARRAYS)})"
        if varied:
            x = self.pick(
                [
                    x,
                    "jnp.float32(0.5)",
                    "jnp.ones((3, 2))",
                    "jnp.array([1, 2])",
                    "jnp.ones(2, jnp.float16)",
                    "0.75",
                ]
            )
        match extra:
            case "how":
                more = self.pick(["", ', how="b"', ', "a"'])
            case "part":
                parts = [p.expr for p in places if p.kind == "part"] + [
                    f"{p.expr}[0]" for p in places if p.kind == "layers"
                ]
                more = ", " + self.pick([*parts, f"P0(jnp.array({self.pick(ARRAYS)}), 1)"])
            case "ws":
                lists = [p.expr for p in places if p.kind == "ws"]
                more = ", " + self.pick([*lists, "[jnp.ones(2), jnp.zeros(2)]"])
            case _:
                more = ""
        return [f"look({name}, {x}{more})"]

    # ------------------------------------------------------------ edits between calls

    def edit(self, places: list[Place], targets: list[Any]) -> list[str]:
        options = [line for p in places for line in self._edits(p, places)]
        options += [
            "helper0.__defaults__ = (2.0,)",
            "helper0.__code__ = other.__code__",
        ]
        if not self.effects:
            options.append("helper0, helper1 = helper1, helper0")
        options += [
            "P0.__call__ = lambda self, v: v * self.w",
            "P0.scale = 0.25",
            "Model.scale = 2.0",
            "Model.total = jnp.ones(2)",
        ]
        options += [
            "model = Model()",
            "Model.base = lambda self, v: v * 0.125",
            "P0.bump = lambda self, v: None",
        ]
        options += ["model = copy.copy(model)", "model = copy.deepcopy(model)", "jax.clear_caches()"]
        if self.methods:
            options.append("Model.m0 = lambda self, v: v * 0.75")
            if self.effects <= self.methods[0].tags:
                options.append("Model.m0 = lambda self, v: helper1(v)")
        text = self.pick(options)
        return text.split("\n")

    def _edits(self, p: Place, places: list[Place]) -> Iterator[str]:
        e, new = (
            p.expr,
            f"jnp.array({self.pick(ARRAYS)})"
            if p.kind in ("vec", "fixed", "ws", "tab", "cfg", "lim")
            else "",
        )
        same = [q.expr for q in places if q.kind == p.kind and q != p]
        match p.kind:
            case "vec":
                yield from (
                    f"{e} = {new}",
                    f"{e} = jnp.array([0.5])",
                    f"{e} = jnp.float32(0.25)",
                    f"{e} = jnp.array([1, 2])",
                )
                yield from (
                    f"{e} = np.array([0.5, 1.0], np.float32)",
                    f"{e} = jnp.ones(2, jnp.float16)",
                    f"{e} = 0.5",
                )
            case "fixed" | "lim":
                yield from (f"{e} = {new}", f"{e} = {e} * 0.5", f"{e} = jnp.array({e})")
            case "num":
                yield from (f"{e} = 5", f"{e} += 1", f"{e} = 0", f"{e} = True", f"{e} = np.int32(3)")
            case "rate":
                yield from (f"{e} = 0.25", f"{e} = 2.0", f"{e} = 1", f"{e} = -0.0", f"{e} = np.float32(0.75)")
            case "flag":
                yield from (f"{e} = not {e}", f"{e} = 1", f"{e} = jnp.bool_(False)", f"{e} = np.bool_(True)")
            case "mode":
                yield from (f'{e} = "b"', f'{e} = "a"', f'{e} = "bad"')
            case "opt":
                yield from (f"{e} = jnp.ones(2)", f"{e} = None", f"{e} = 0.5")
            case "ws":
                yield from (
                    f"{e}[0] = {new}",
                    f"{e}.append({new})",
                    f"{e}.reverse()",
                    f"{e} = list({e})",
                    f"{e} = {e}[::-1]",
                )
                yield from (f"{e}[0] = {e}[1]", f"{e}[1] = jnp.array({e}[1])")
            case "hist":
                yield from (f"{e}.append(jnp.ones(2))", f"{e}.clear()", f"{e} = []", f"{e} = list({e})")
            case "tab":
                yield from (
                    f'{e}["a"] = {new}',
                    f'{e}["c"] = jnp.ones(2)',
                    f'{e}.pop("c", None)',
                    f"{e} = dict({e})",
                )
                yield from (f'{e}["a"] = {e}["b"]', f'{e}["a"] = {e}.pop("a")', f'{e}["unread"] = "x"')
            case "cfg":
                yield from (
                    f'{e}["deep"]["rate"] = 0.25',
                    f'{e}["deep"]["w"] = {new}',
                    f'{e}["names"].append("c")',
                )
                yield from (
                    f'{e}["more"] = 3.0',
                    f'{e}["deep"] = dict({e}["deep"])',
                    f'{e}["deep"]["rate"] = 1',
                )
            case "buf":
                yield from (
                    f"{e}[0] = 0.9375",
                    f"{e} *= 0.5",
                    f"{e} = {e}.copy()",
                    f"{e} = np.array([0.25, 2.0])",
                )
                yield from (f"{e} = np.flip({e})", f"{e}.sort()")
            case "log":
                yield from (f"{e}[:] = 0.5", f"{e} = np.ones(3, np.float32)")
            case "tags":
                yield from (f'{e}.add("u")', f'{e}.discard("t")', f'{e} = {{"t", "z"}}')
            case "win":
                yield from (
                    f"{e}.append(jnp.ones(2))",
                    f"{e}.rotate(1)",
                    f"{e} = collections.deque({e}, maxlen=3)",
                )
            case "pair":
                yield from (
                    f"{e} = {e}._replace(k=3)",
                    f"{e} = Pair(jnp.ones(2), 2)",
                    f"{e} = tuple({e}) and Pair(*{e})",
                )
            case "tup":
                yield from (f"{e} = (jnp.ones(2), 1)", f"{e} = ({e}[0], 2)", f"{e} = ({e}[0], True)")
            case "count":
                yield from (f'{e}["a"] += 2', f"{e}.clear()", f'{e} = collections.Counter("aab")')
            case "lazy":
                yield from (f'{e}["a"].append(jnp.ones(2))', f"{e}.clear()", f'{e}["b"]')
            case "stats":
                yield from (
                    f'{e}["losses"].append(jnp.ones(2))',
                    f'{e}["losses"].clear()',
                    f'{e}["n"] = 0',
                    f'{e}["extra"] = []',
                    f'{e}["extra"] = {e}["losses"]',
                )
                yield from (f'{e}["best"] = None', f'{e}["n"] += 1', f"{e} = copy.deepcopy({e})")
            case "order":
                yield from (
                    f'{e}.move_to_end("a")',
                    f'{e}["b"] = 3',
                    f'{e}["c"] = jnp.ones(2)',
                    f"{e} = {e}.copy()",
                )
            case "recs":
                yield from (f'{e}[0]["n"] = 2', f'{e}.append({{"v": jnp.ones(2), "n": 2}})', f"del {e}[1:]")
                yield from (f"{e}.append({e}[0])", f'{e}[-1]["v"] = jnp.ones(2)')
            case "bag":
                yield from (f"{e}.append(jnp.ones(2))", f"{e}.clear()", f"{e}.taken = 5", f"{e} = Bag({e})")
            case "part":
                yield from (
                    f"{e} = P0(jnp.ones(2), 2)",
                    f"{e} = copy.copy({e})",
                    f"{e}.bump(jnp.ones(2))",
                    f"{e}.tick()",
                )
                yield f"{e} = P{len(self.styles) - 1}(jnp.zeros(2), 3)"
                if self.parts_assignable:
                    yield from (f"{e}.w = jnp.array([0.25, 0.75])", f"{e}.k = 4", f"{e}.k = 1.5")
                if not {"slots", "frozen", "getattr"} & set(self.styles):
                    yield from (f"{e}.scale = 0.75", f'vars({e}).pop("scale", None)')
            case "layers":
                yield from (
                    f"{e}.reverse()",
                    f"{e}.append(P0(jnp.ones(2), 1))",
                    f"{e}[0] = {e}[1]",
                    f"{e}[0].bump(jnp.ones(2))",
                )
                yield from (f"{e}[0] = copy.deepcopy({e}[0])", f"{e} = {e}[::-1]")
            case "act":
                yield from (f"{e} = jnp.sin", f"{e} = helper0", f"{e} = helper1", f"{e} = lambda u: u * 0.25")
                yield from (
                    f"{e} = P0(jnp.ones(2), 1)",
                    f"{e} = functools.partial(helper0, k=0.75)",
                    f"{e} = jax.nn.relu",
                )
            case "key":
                yield from (f"{e} = jax.random.key(7)", f"{e} = jax.random.split({e})[0]")
            case _:
                pass
        if p.kind in ("vec", "fixed", "ws", "tab", "hist", "part", "buf", "cfg", "tags") and same:
            yield f"{e} = {same[0]}"
        if (
            p.kind in ("vec", "num", "rate", "flag")
            and e.startswith("model.")
            and same
            and same[0].startswith("twin.")
        ):
            yield f"{e}, {same[0]} = {same[0]}, {e}"


GETATTR = """\
def __init__(self, w, k):
    self.__dict__["store"] = {"w": w, "k": k}
def __getattr__(self, name):
    try:
        return self.__dict__["store"][name]
    except KeyError:
        raise AttributeError(name) from None
def __setattr__(self, name, value):
    self.__dict__["store"][name] = value
"""
SETATTR = """\
def __setattr__(self, name, value):
    self.__dict__["sets"] = self.__dict__.get("sets", 0) + 1
    super().__setattr__(name, value)
"""
HEAD = '''\
import collections
import contextlib
import copy
import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from tests.fuzz.look import Look

look = Look(__name__)
Pair = collections.namedtuple("Pair", "w k")


class Unit:
    """A descriptor that keeps its value in the instance."""

    def __set_name__(self, owner, name):
        self.key = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else instance.__dict__[self.key]

    def __set__(self, instance, value):
        instance.__dict__[self.key] = value


class Bag(list):
    """A list of the user's own, which counts what has been taken out of it."""

    taken = 0

    def take(self):
        self.taken += 1
        return self.pop() if self else None

    def size(self):
        return len(self) + self.taken


def counted(f):
    @functools.wraps(f)
    def counting(*args, **kwargs):
        counting.calls += 1
        return f(*args, **kwargs) * counting.scale

    counting.calls, counting.scale = 0, 1.0
    return counting


def other(v, k=0.5):
    return jnp.sin(v) + k

'''


@st.composite
def programs(draw: Callable[[Any], Any]) -> Program:
    return Writer(draw).write()
