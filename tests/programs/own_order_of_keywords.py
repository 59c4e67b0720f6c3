"""A function that takes any keywords sees them in the order of the call."""


def program(jit):
    @jit
    def digits(first=0.0, **others):
        y = first
        for value in others.values():
            y = 10 * y + value
        return y, list(others)

    calls = [
        {"a": 1.0, "b": 2.0},
        {"b": 2.0, "a": 1.0},
        {"a": 1.0, "b": 2.0, "first": 3.0},
        {"first": 3.0, "b": 2.0},
    ]
    return {
        str(list(call)): [float(y) if i == 0 else y for i, y in enumerate(digits(**call))]
        for call in calls * 2
    }
