"""An LSTM layer run over a sequence by a scan, which becomes a while loop."""

import jax
import jax.numpy as jnp

from models import spec


def cell(params, state, x):
    h, c = state
    gates = x @ params["wx"] + h @ params["wh"] + params["b"]
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    c = jax.nn.sigmoid(f + 1.0) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def lstm(params, h, c, xs):
    (h, c), hs = jax.lax.scan(lambda s, x: cell(params, s, x), (h, c), xs)
    return h, c, hs


def model(steps, batch, inputs, hidden):
    params = {"wx": spec.symmetric((inputs, 4 * hidden), spec.fan_in(inputs)),
              "wh": spec.symmetric((hidden, 4 * hidden), spec.fan_in(hidden) / 2),
              "b": spec.symmetric((4 * hidden,), 0.0625)}
    return spec.Model(
        about=f"LSTM over {steps} steps in a while loop: batch {batch}, inputs {inputs}, "
              f"hidden {hidden}",
        function=lstm,
        arguments=(params, spec.symmetric((batch, hidden), 0.5),
                   spec.symmetric((batch, hidden), 0.5),
                   spec.symmetric((steps, batch, inputs), 1.0)))
