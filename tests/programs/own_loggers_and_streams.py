"""Loggers and streams that code holds: it can report to them, and may ask whether a level is wanted."""

import io
import logging

import jax.numpy as jnp

LOG = logging.getLogger("freshjit.tests.own_loggers")


class Kept(logging.Handler):
    """Keeps what it is told."""

    def __init__(self):
        super().__init__()
        self.kept = []

    def emit(self, record):
        self.kept.append(self.format(record))


class Trainer:
    def __init__(self):
        self.log = LOG.getChild("trainer")
        self.out = io.StringIO()
        self.n = 0

    def step(self, x):
        LOG.info("a step of shape %s", x.shape)
        self.log.warning("from %s", type(self).__name__)
        logging.getLogger("freshjit.tests.own_loggers").info("by name")
        print("printed", file=self.out)
        self.out.write("written\n")
        self.n += 1
        if self.log.isEnabledFor(logging.DEBUG):
            return x * 100
        return x * 2


def program(jit):
    handler = Kept()
    LOG.addHandler(handler)
    LOG.propagate, LOG.level = False, logging.INFO
    trainer = Trainer()
    step = jit(trainer.step)
    try:
        results = [step(jnp.ones(2))]
        reports = [list(handler.kept), trainer.out.getvalue()]
        LOG.setLevel(logging.DEBUG)
        results.append(step(jnp.ones(2)))
        LOG.setLevel(logging.ERROR)
        results.append(step(jnp.ones(2)))
        trainer.log.setLevel(logging.DEBUG)
        results.append(step(jnp.ones(2)))
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(logging.NOTSET)
        trainer.log.setLevel(logging.NOTSET)
    return {"results": [r.tolist() for r in results], "reports": reports, "n": trainer.n}
