"""Class attributes with a name like __rate__ are state, and so is __match_args__, by which patterns read."""


class Point:
    __match_args__ = ("x", "y")
    __rate__ = 2.0

    def __init__(self):
        self.x, self.y = 1.0, 3.0


class Child(Point):
    pass


def program(jit):
    point = Child()

    def read(x):
        match point:
            case Point(first, second):
                return [x * first - second, x * Point.__rate__, x * point.__rate__, x * Child.__rate__]

    step, seen = jit(read), []

    def look():
        seen.append([float(y) for y in step(10.0)])

    look()
    Point.__rate__ = 5.0
    look()
    Point.__match_args__ = ("y", "x")
    look()
    Child.__rate__ = 0.5
    look()
    del Child.__rate__
    look()
    Point.__match_args__, Point.__rate__ = ("x", "y"), 2.0
    return seen
