"""A parameter store implements __len__, __iter__, __getitem__, __setitem__, __contains__ and __delitem__ by itself."""

import jax.numpy as jnp


class Store:
    def __init__(self, **items):
        self._items = dict(items)
        self.reads = 0

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(sorted(self._items))

    def __contains__(self, name):
        return name.lower() in self._items

    def __getitem__(self, name):
        self.reads += 1
        return self._items[name.lower()]

    def __setitem__(self, name, value):
        self._items[name.lower()] = value

    def __delitem__(self, name):
        del self._items[name.lower()]

    def __reversed__(self):
        return reversed(sorted(self._items))


def program(jit):
    store = Store(w=jnp.array(2.0), b=jnp.array(1.0))

    @jit
    def step(x):
        y = x * len(store)
        for name in store:
            y = y * store[name]
        store["W"] = store["w"] + 1
        if "GATE" in store:
            y = y * store["gate"]
            del store["gate"]
        return y, list(reversed(store))

    def look():
        y, names = step(jnp.array(3.0))
        return [float(y), names]

    seen = [look(), look()]
    store["gate"] = jnp.array(-1.0)
    seen += [look(), look()]
    store["extra"] = jnp.array(0.5)
    return seen + [look(), len(store), int(store.reads)]
