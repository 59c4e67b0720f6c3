"""The jitted call makes things of many kinds that lead back to themselves."""

import collections


class Node:
    def __init__(self, key):
        self.key = key

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return isinstance(other, Node) and self.key == other.key


def make(x):
    items = []
    pair = (items, x)
    items.append(pair)
    table = collections.defaultdict(list)
    table["me"] = table
    error = ValueError("bad")
    error.me = error

    def factorial(n):
        return 1 if n == 0 else n * factorial(n - 1)

    def marked():
        return marked.me is marked

    marked.me = marked
    node = Node(3)
    node.me, node.peers = node, frozenset([node])
    weights = {node: x}
    return pair, table, error, factorial, marked, node, weights


def program(jit):
    made = jit(make)
    seen = []
    for value in (1.0, 2.0):
        pair, table, error, factorial, marked, node, weights = made(value)
        seen.append(
            (pair[0][0] is pair, float(pair[1]), table["me"] is table, table["new"], error.me is error)
        )
        seen.append((factorial(5), marked(), node.me is node, node in node.peers, float(weights[Node(3)])))
    return seen
