"""New objects that hold text with dollar signs are used twice, or refer to themselves."""


class Rule:
    pass


class Registry:
    def __init__(self):
        self.first = self.second = None

    def add(self, x):
        rule = Rule()
        rule.pattern, rule.me = "^a$", rule
        self.first = self.second = {"re": "$", "rule": rule}
        price = {"price": "$5"}
        return [price, price, x]


def program(jit):
    registry = Registry()
    add = jit(registry.add)
    seen = []
    for value in (1.0, 2.0):
        one, other, x = add(value)
        rule = registry.first["rule"]
        seen.append((one, one is other, float(x), registry.first["re"], rule.pattern, rule.me is rule))
    return seen, registry.first is registry.second
