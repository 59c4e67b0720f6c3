"""Keys of a dict whose hash changes after they were put in: Python does not find them, or finds another one."""

import jax.numpy as jnp


class Key:
    def __init__(self, a):
        self.a = a

    def __eq__(self, other):
        return isinstance(other, Key) and self.a == other.a

    def __hash__(self):
        return hash(self.a)


def program(jit):
    key, other = Key(1), Key(2)
    table, members = {key: "one", "text": 0, other: "two"}, {key, other}

    @jit
    def look(x):
        found = [table.get(k) for k in (key, other, Key(1), Key(2), Key(5))]
        return found, key in table, key in members, [getattr(k, "a", k) for k in table], len(table), x

    @jit
    def write(x):
        table[other] = table[other] + "+"
        table["text"] += 1
        return x

    seen = []
    for a in (1, 2, 1, 5, 7, 1.0):
        key.a = a
        *found, _ = look(jnp.float32(1.0))
        seen += found
        if a == 5:
            write(jnp.float32(1.0))
        seen += [list(table.values()), len(members)]
    return seen
