"""The result is a dict whose keys cannot be sorted, hence no pytree."""


def program(jit):
    @jit
    def named(x):
        return {1: x, "a": 2 * x, None: [x]}

    seen = []
    for value in (1.0, 2.0):
        found = named(value)
        seen.append([list(map(str, found)), float(found[1]), float(found["a"]), float(found[None][0])])
    return seen
