"""A list's ``count`` and ``in`` find what is the same thing, however they are reached."""

import jax.numpy as jnp


class Log:
    pass


log = Log()


def program(jit):
    nan = jnp.float32("nan")  # equal to nothing, itself included: only being the same thing counts

    def called(x):
        return x + log.seen.count(log.latest)

    def kept(x):
        count = log.seen.count
        return x + count(log.latest)

    def passed(x):
        return x + sum(map(log.seen.count, [log.latest]))

    def by_name(x):
        return x + getattr(log.seen, "count")(log.latest)

    def of_class(x):
        return x + list.count(log.seen, log.latest)

    seen = [nan]
    outer = seen.count
    of_list = list.count

    def closed_over(x):
        return x + outer(log.latest)

    def closed_over_class(x):
        return x + of_list(log.seen, log.latest)

    def contained(x):
        return x + (log.latest in log.seen)

    def compared(x):
        return x + ([log.latest] == log.seen)

    def never_asked(x):
        log.count += 1
        return x * log.count

    found = {}
    log.count = 0
    for function in (
        called,
        kept,
        passed,
        by_name,
        of_class,
        closed_over,
        closed_over_class,
        contained,
        compared,
        never_asked,
    ):
        jitted = jit(function)
        numbers = found[function.__name__] = []
        for latest in (jnp.float32("nan"), nan, jnp.float32("nan")):
            log.seen, log.latest = seen, latest
            seen[:] = [nan]
            numbers.append(float(jitted(1.0)))
    return found
