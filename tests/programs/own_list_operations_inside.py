"""A priority queue is kept with ordinary list operations inside the jitted call: insert, pop, sort, slices, del."""

import jax.numpy as jnp


class Queue:
    def __init__(self):
        self.items = [(2, "b", jnp.array(20.0)), (1, "a", jnp.array(10.0))]
        self.done = []

    def serve(self, x):
        self.items.sort(key=lambda entry: entry[0])
        rank, name, value = self.items.pop(0)
        self.done.insert(0, name)
        self.items.extend([(rank + 3, name + "'", value + x)])
        if len(self.done) > 3:
            self.done[1:3] = ["..."]
        if len(self.items) > 2:
            del self.items[-1]
        self.items.reverse()
        return value * x, name in self.done, self.done.count(name)


def program(jit):
    q = Queue()
    serve = jit(q.serve)
    seen = []
    for k in range(5):
        if k == 2:
            q.items.append((0, "urgent", jnp.array(-1.0)))
        value, known, count = serve(jnp.array(2.0))
        seen.append([float(value), bool(known), int(count)])
    return seen, q.done, [[int(r), n, float(v)] for r, n, v in q.items]
