"""The jitted function walks a tree of modules with generator helpers that read state as they go."""

import jax.numpy as jnp


class Tree:
    def __init__(self, value, *kids):
        self.value = jnp.array(value)
        self.kids = list(kids)
        self.open = True

    def walk(self):
        if self.open:
            yield self
            for kid in self.kids:
                yield from kid.walk()

    def leaves(self):
        return (t.value for t in self.walk() if not t.kids)


def weighted(tree, rate):
    for depth, node in enumerate(tree.walk()):
        rate = yield node.value * rate**depth


def program(jit):
    left, right = Tree(1.0), Tree(2.0, Tree(3.0), Tree(4.0))
    root = Tree(10.0, left, right)

    @jit
    def total(x):
        g, terms = weighted(root, 0.5), []
        term = next(g)
        while True:
            terms.append(term)
            try:
                term = g.send(0.5)
            except StopIteration:
                break
        return x * sum(terms), sum(root.leaves())

    def look():
        a, b = total(jnp.array(2.0))
        return [float(a), float(b)]

    seen = [look()]
    right.kids[1].value = jnp.array(40.0)
    seen.append(look())
    right.open = False
    seen.append(look())
    left.kids.append(Tree(-1.0))
    return seen + [look()]
