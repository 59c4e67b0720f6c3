"""A list that the module of the function has imported from another one is only appended to."""

import sys
import types

WANT_COMPILES = 1

SOURCE = """
from own_journal import log

def step(x):
    log.append(x * 2)
    return x
"""


def program(jit):
    journal = types.ModuleType("own_journal")
    journal.log = []
    sys.modules["own_journal"] = journal
    namespace = {"__name__": "own_training"}
    exec(SOURCE, namespace)
    step = jit(namespace["step"])
    for i in range(4):
        step(float(i))
    return [float(y) for y in journal.log]
