"""One step of Lloyd's algorithm; the points are also listed cluster by cluster."""

import jax
import jax.numpy as jnp

from models import spec


def step(points, centres):
    distances = (jnp.sum(points**2, axis=1, keepdims=True) - 2.0 * points @ centres.T
                 + jnp.sum(centres**2, axis=1))
    nearest = jnp.argmin(distances, axis=1)
    order = jnp.argsort(nearest, stable=True)
    smallest = jnp.sort(jnp.min(distances, axis=1))
    count = jnp.zeros(centres.shape[0], centres.dtype).at[nearest].add(1.0)
    total = jax.ops.segment_sum(points, nearest, num_segments=centres.shape[0])
    moved = jnp.where(count[:, None] > 0, total / jnp.maximum(count, 1.0)[:, None], centres)
    return moved, count, nearest, order, smallest


def model(points, centres, dimensions):
    return spec.Model(
        about=f"k-means step: {points} points in {dimensions} dimensions, {centres} centres; "
              "argmin, sort, scatter",
        function=step,
        arguments=(spec.symmetric((points, dimensions), 1.0),
                   spec.symmetric((centres, dimensions), 1.0)),
        exact=(1, 2, 3))
