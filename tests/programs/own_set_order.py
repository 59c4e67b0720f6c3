"""Going over a set gives its elements in the set's own order, which its history decides and writes keep."""


def program(jit):
    few, shrunk = {0, 8}, {f"n{i}" for i in range(60)}
    for i in range(60):
        if i % 7:
            shrunk.discard(f"n{i}")

    @jit
    def mix(x):
        for v in few:
            x = 2 * x + v
        return x

    @jit
    def names(x):
        for name in shrunk:
            x = 2 * x + int(name[1:])
        return x

    @jit
    def turn(x):
        few.discard(0)
        few.add(0)
        return x

    seen = [float(mix(1.0)), float(names(1.0))]
    few.clear()
    few.update([8, 0])
    shrunk.discard("n7")
    seen += [float(mix(1.0)), float(names(1.0))]
    shrunk.add("n7")
    seen += [float(names(1.0)), float(turn(1.0)), list(few), float(mix(1.0))]
    few.clear()
    few.update([16, 8])
    return [*seen, float(turn(1.0)), list(few), float(mix(1.0))]
