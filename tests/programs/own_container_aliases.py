"""The same list is reachable by two names; the jitted function writes by one and reads by the other, until they part."""

import jax.numpy as jnp


class Bank:
    def __init__(self):
        self.rows = [jnp.array(1.0), jnp.array(2.0)]
        self.view = self.rows

    def deposit(self, x):
        self.rows[0] = self.rows[0] + x
        self.rows.append(x)
        return sum(self.view), len(self.view)


def program(jit):
    bank = Bank()
    outside = bank.rows
    deposit = jit(bank.deposit)

    def look(x):
        total, n = deposit(jnp.array(x))
        return [float(total), int(n), bank.rows is bank.view, bank.rows is outside]

    seen = [look(10.0), look(100.0)]
    bank.view = list(bank.rows)
    seen.append(look(1000.0))
    outside[1] = jnp.array(0.0)
    bank.view = bank.rows
    seen.append(look(1.0))
    return seen, [float(v) for v in outside]
