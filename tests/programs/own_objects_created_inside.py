"""The jitted call creates new objects, keeps them in attributes, lists and dicts, and links them to each other."""

import jax.numpy as jnp


class Snapshot:
    def __init__(self, value, tag, before=None):
        self.value, self.tag, self.before = value, tag, before

    def depth(self):
        return 1 + (self.before.depth() if self.before is not None else 0)


class Recorder:
    def __init__(self):
        self.last = None
        self.by_tag = {}
        self.log = []

    def record(self, x, tag):
        snap = Snapshot(x * 2, tag, self.last)
        if self.last is not None:
            snap.value = snap.value + self.last.value
        self.last = snap
        self.by_tag[tag] = snap
        self.log.append({"tag": tag, "snap": snap})
        return snap.value


def program(jit):
    rec = Recorder()
    record = jit(rec.record)
    seen = [float(record(jnp.array(v), tag)) for v, tag in ((1.0, "a"), (2.0, "b"), (3.0, "a"))]
    linked = rec.by_tag["a"] is rec.last and rec.log[-1]["snap"] is rec.last
    rec.last.value = jnp.array(-100.0)
    seen.append(float(record(jnp.array(0.0), "c")))
    rec.last = None
    seen.append(float(record(jnp.array(5.0), "a")))
    return (
        seen,
        linked,
        rec.last.depth(),
        [float(e["snap"].value) for e in rec.log],
        [e["tag"] for e in rec.log],
    )
