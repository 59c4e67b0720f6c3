"""The questions of `freshjit demo`: small programs, as text, with the lines to type after them.

They are text so that the code shown is, to the letter, the code run, and so that it runs as a user's own
module would: with globals of its own, outside of this package. In it `jit` is whichever is being asked:
`jax.jit`, `freshjit.jit`, or a decorator that does nothing (plain Python).
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Program:
    """A program, what to type once it ran, and why `jax.jit` answers as it does."""

    title: str
    code: str
    steps: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Question:
    """One question people ask, with the programs that answer it."""

    title: str
    programs: tuple[Program, ...]
    counts_compilations: bool = field(default=False, kw_only=True)


METHOD = Program(
    "A bound method, a flag",
    """\
class Calculator:
    def __init__(self, x, mul):
        self.x = x
        self.mul = mul

    def calc(self, y):
        return self.x * y if self.mul else y

c = Calculator(2, True)
calc = jit(c.calc)
""",
    ("calc(3)", "c.mul = False", "calc(3)"),
    "jax.jit reads `self.mul` once, while it traces; the branch taken then is the whole program.",
)

STATIC_SELF = Program(
    "The usual advice: a static self",
    """\
class Calculator:
    def __init__(self, x, mul):
        self.x = x
        self.mul = mul

    @partial(jit, static_argnums=0)
    def calc(self, y):
        return self.x * y if self.mul else y

c = Calculator(2, True)
""",
    ("c.calc(3)", "c.mul = False", "c.calc(3)", "c.x = 5; c.mul = True", "c.calc(3)"),
    "A static argument is compared by its hash and ==, and those of `self` ignore its attributes.",
)

UNHASHABLE_SELF = Program(
    "A static self that compares by value and holds an array",
    """\
@dataclass
class Calculator:
    x: jax.Array
    mul: bool

    @partial(jit, static_argnums=0)
    def calc(self, y):
        return self.x * y if self.mul else y

c = Calculator(jnp.array([1, 2]), True)
""",
    ("c.calc(3)", "c.x = jnp.array([3, 4])", "c.calc(3)", "c.mul = False", "c.calc(3)"),
    "A static argument must be hashable; a class with its own == is not. freshjit reads its attributes.",
)

CLOSURE = Program(
    "A factory, its weights in a closure",
    """\
def factory(weights):
    @jit
    def mult(x):
        return weights * x

    def update(new):
        nonlocal weights
        weights = new

    return mult, update

mult, update = factory(2)
""",
    ("mult(10)", "update(0)", "mult(10)", "update(2)", "mult(10)"),
    "The closure's cell was read while tracing: its value is a constant of the compiled program.",
)

JITTED_UPDATE = Program(
    "The same, the updater jitted as well",
    """\
def factory(weights):
    @jit
    def mult(x):
        return weights * x

    @jit
    def update(new, i):
        nonlocal weights
        weights = lax.dynamic_update_slice(weights, new, (i,))

    return mult, update

mult, update = factory(jnp.array([1, 2, 3]))
zero = jnp.array([0])
""",
    ("mult(10)", "update(zero, 1)", "mult(10)", "mult(10.5)"),
    "Under jax.jit the write puts a tracer in the cell: stale where compiled, an error where traced again.",
)

NEW_LAMBDA = Program(
    "A lambda made again at every call",
    """\
def double(x):
    return jit(lambda v: v * 2)(x)
""",
    ("double(3)", "double(4)", "double(5)"),
    "jax.jit's key has the function object, new each time; freshjit's has its code and what it captured.",
)

STATIC_VALUES = Program(
    "Static values that are equal, yet not the same",
    """\
@partial(jit, static_argnums=0)
def first(options):
    return jnp.asarray(options[0])
""",
    ("first((1,))", "first((True,))", "first((1.0,))", "first((0.0,))", "first((-0.0,))"),
    "(1,) == (True,) == (1.0,) and 0.0 == -0.0, so jax.jit reuses the first program; freshjit does not.",
)

CAPTURED_STATE = Program(
    "A captured dictionary",
    """\
config = {"negate": False, "note": ""}

@jit
def f(x):
    return -x if config["negate"] else x
""",
    (
        "f(3)",
        'config["negate"] = True',
        "f(3)",
        'config["negate"] = False',
        "f(3)",
        'config["note"] = "hi"',
        "f(3)",
    ),
    "freshjit's key has the state that was read, and no other: one program per value, kept for its return.",
)

QUESTIONS = (
    Question("How do I jit a method that reads self?", (METHOD, STATIC_SELF, UNHASHABLE_SELF)),
    Question("Why does my function keep its old weights?", (CLOSURE, JITTED_UPDATE)),
    Question(
        "What is in the cache key? When does it compile again?",
        (NEW_LAMBDA, STATIC_VALUES, CAPTURED_STATE),
        counts_compilations=True,
    ),
)
