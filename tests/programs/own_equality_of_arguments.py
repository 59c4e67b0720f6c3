"""Arguments of a class without ``__eq__`` are told apart by ``==``, ``in`` and as keys, as by ``is``."""

import operator

import jax


@jax.tree_util.register_pytree_node_class
class Node:
    def __init__(self, w):
        self.w = w

    def tree_flatten(self):
        return (self.w,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        new = object.__new__(cls)
        new.w = children[0]
        return new


class Group:
    pass


group = Group()


def is_member(x, node, other):
    return x * (2 if node in group.members else 1)


def equals_member(x, node, other):
    return x * (2 if node == group.members[0] else 1)


def is_in_set(x, node, other):
    return x * (2 if node in {group.members[0]} else 1)


def is_key(x, node, other):
    return x * {group.members[0]: 2}.get(node, 1)


def counted_by_name(x, node, other):
    return x * (1 + getattr(group.members, "count")(node))


def counted_by_operator(x, node, other):
    return x * (1 + operator.countOf(group.members, node))


def equals_other(x, node, other):
    return x * (2 if node == other else 1)


def differs_from_other(x, node, other):
    return x * (1 if node != other else 2)


def program(jit):
    first, second = Node(1.0), Node(1.0)
    group.members = [second]
    functions = (
        is_member,
        equals_member,
        is_in_set,
        is_key,
        counted_by_name,
        counted_by_operator,
        equals_other,
        differs_from_other,
    )
    found = {}
    for function in functions:
        jitted = jit(function)
        found[function.__name__] = [float(jitted(1.0, node, second)) for node in (first, second, first)]
    return found
