"""The call makes and reads chains of a thousand links and more, and changes a number two thousand times."""


class Link:
    def __init__(self, value, next):
        self.value, self.next, self.before = value, next, None


class Chains:
    def __init__(self):
        self.count, self.steps, self.head = 0, 0, None
        for i in range(1200):
            self.head = Link(i, self.head)

    def walk(self, x):
        link, seen = self.head, 0
        while link is not None:
            link, seen = link.next, seen + 1
        self.steps += 1
        for _ in range(2000):
            self.count += 1
        return x * seen

    def make(self, x):
        single = double = None
        for _ in range(1000):
            single = Link(x, single)
        for _ in range(400):
            link = Link(x, double)
            if double is not None:
                double.before = link
            double = link
        nested = []
        for _ in range(400):
            nested = [nested]
        return single, double, nested


def program(jit):
    chains = Chains()
    walk, make = jit(chains.walk), jit(chains.make)
    seen = [(float(walk(x)), chains.count, chains.steps) for x in (1.0, 2.0, 3.0)]
    for x in (1.0, 2.0):
        single, double, nested = make(x)
        lengths = [0, 0, 0]
        while single is not None:
            lengths[0] += single.value == x
            single = single.next
        while double is not None:
            lengths[1] += double.next is None or double.next.before is double
            double = double.next
        while nested:
            nested = nested[0]
            lengths[2] += 1
        seen.append([int(n) for n in lengths])
    return seen
