"""Three closures share two variables: one jitted function reads, another jitted one writes, a plain one resets."""

import jax.numpy as jnp


def make_account(jit, start):
    balance = jnp.array(start)
    rate = 0.1

    @jit
    def deposit(x):
        nonlocal balance
        balance = balance + x
        return show()

    @jit
    def interest():
        nonlocal balance
        balance = balance * (1 + rate)
        return balance

    def show():
        return balance

    def reset(new_rate):
        nonlocal balance, rate
        balance, rate = jnp.array(start), new_rate

    return deposit, interest, show, reset


def program(jit):
    deposit, interest, show, reset = make_account(jit, 100.0)
    other, *_ = make_account(jit, 5.0)
    seen = [float(deposit(10.0)), float(interest()), float(show())]
    reset(0.5)
    seen += [float(interest()), float(deposit(1.0)), float(other(1.0)), float(show())]
    return seen
