"""Structures, unions and arrays of ctypes as settings: their fields are edited between calls."""

import ctypes


class Inner(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int)]


class Setting(ctypes.Structure):
    _fields_ = [("x", ctypes.c_float), ("n", ctypes.c_int), ("v", ctypes.c_float * 3), ("inner", Inner)]
    factor = 3

    def twice(self):
        return self.x * 2


class Either(ctypes.Union):
    _fields_ = [("small", ctypes.c_int8), ("large", ctypes.c_int32)]


class Device:
    def __init__(self):
        self.setting = Setting(1.5, 2, (ctypes.c_float * 3)(1, 2, 3), Inner(4))
        self.either = Either(large=7)
        self.pair = (ctypes.c_int * 2)(5, 6)


def program(jit):
    device = Device()
    setting = device.setting

    @jit
    def apply(x):
        return x * setting.x + setting.n + setting.twice() * setting.factor

    @jit
    def nested(x):
        return x + setting.inner.a + device.setting.v[1] * 100

    @jit
    def others(x):
        return x + device.either.small + device.pair[0] * 1000 + len(device.pair)

    seen = [float(apply(1.0))]
    setting.n = 5
    seen.append(float(apply(1.0)))
    setting.x = 10.0
    seen.append(float(apply(1.0)))
    Setting.factor = 5
    seen.append(float(apply(1.0)))
    seen.append(float(nested(1.0)))
    setting.inner.a = 9
    seen.append(float(nested(1.0)))
    setting.v[1] = 0.5
    seen.append(float(nested(1.0)))
    seen.append(float(others(1.0)))
    device.either.large = 8
    seen.append(float(others(1.0)))
    device.pair[0] = 2
    seen.append(float(others(1.0)))
    device.pair = (ctypes.c_int * 3)(2, 2, 2)
    seen.append(float(others(1.0)))
    return {"seen": seen}
