"""Bytearrays, arrays of the module array and memoryviews of them are written bit by bit, and seen through each other."""

import array
import math


class Bits(bytearray):
    pass


class Reals(array.array):
    pass


def program(jit):
    zeros, bits, reals = array.array("d", [0.0, math.nan]), Bits(b"ab"), Reals("d", [1.0])
    data, numbers = bytearray(b"\1\2\3\4"), array.array("d", [1.0, 2.0, 3.0])
    part, whole, square = memoryview(data)[1:3], memoryview(numbers), memoryview(data).cast("B", (2, 2))
    fixed = memoryview(data).toreadonly()
    bits.scale, reals.scale = 2.0, 3.0

    @jit
    def write(x):
        zeros[0], zeros[1] = -0.0, 1.0
        bits[0] += 1
        reals[0] = reals[0] + 1.0
        bits.last = x
        return x * bits[0] * reals[0] * bits.scale * reals.scale

    @jit
    def share(x):
        whole[1] = whole[1] + 1.0
        data[2] += 1
        part[0] = part[0] + 1
        return x * whole[1] * numbers[1] * part[1], part[0], fixed[1], square[1, 0], fixed.readonly

    def look():
        y, *rest = share(1.0)
        written = [float(write(1.0)), list(map(repr, zeros)), bytes(bits), list(reals), float(bits.last)]
        return [float(y), *rest, bytes(data), list(numbers), *written]

    seen = [look(), look()]
    data[1], numbers[1], bits[1], reals.scale = 40, 9.0, 7, 5.0
    zeros[0] = 0.0
    return [str(seen), str(look())]
