"""A sparse update of an embedding table: gather rows, differentiate, scatter back (Adagrad)."""

import jax
import jax.numpy as jnp

from models import spec


def loss_of_rows(rows, direction, target):
    return jnp.mean(jnp.square(jnp.tanh(rows) @ direction - target))


def update(table, history, ids, direction, target, rate=0.5):
    rows = table[ids]
    loss, grads = jax.value_and_grad(loss_of_rows)(rows, direction, target)
    history = history.at[ids].add(jnp.mean(jnp.square(grads), axis=1))
    scale = rate * jax.lax.rsqrt(history[ids] + 1e-8)
    table = table.at[ids].add(-scale[:, None] * grads)
    return table, history, table[ids], loss


def model(rows, width, batch):
    return spec.Model(
        about=f"embedding update: table {rows}x{width}, {batch} ids with repeats; gather, "
              "gradient, scatter-add",
        function=update,
        arguments=(spec.symmetric((rows, width), 1.0), spec.uniform((rows,), 2.0**-10, 2.0**-8),
                   spec.randint((batch,), 0, rows), spec.symmetric((width,), spec.fan_in(width)),
                   spec.symmetric((batch,), 1.0)),
        donate=(0, 1))
