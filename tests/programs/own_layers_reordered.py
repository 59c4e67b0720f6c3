"""A network is a list of layer objects of two classes; layers are swapped, reordered, removed and shared."""

import jax.numpy as jnp


class Scale:
    def __init__(self, w):
        self.w = jnp.array(w)

    def __call__(self, x):
        return self.w * x


class Shift:
    def __init__(self, b):
        self.b = jnp.array(b)

    def __call__(self, x):
        return x + self.b


def program(jit):
    class Net:
        def __init__(self, *layers):
            self.layers = list(layers)

        @jit
        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    double, plus = Scale(2.0), Shift(3.0)
    net = Net(double, plus)
    x = jnp.array(1.0)
    seen = [float(net(x))]
    net.layers.reverse()
    seen.append(float(net(x)))
    net.layers[0] = Shift(-1.0)
    seen.append(float(net(x)))
    net.layers = [double, double, plus]
    double.w = jnp.array(10.0)
    seen.append(float(net(x)))
    net.layers.pop(1)
    seen.append(float(net(x)))
    net.layers = [plus, plus]
    return seen + [float(net(x)), float(Net(Scale(7.0))(x))]
