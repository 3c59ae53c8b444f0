"""Idioms that move, join and reduce arrays, at sizes where kernels change: one element, a vector, one more, one less."""

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from corpus.register import program
from models.spec import symmetric

SIZES = ((2, 2), (8, 8), (17, 33))


def at_sizes(make, **options):
    """Registers the program once for each size."""
    for rows, columns in SIZES:
        program(symmetric((rows, columns), 1), **options)(make(f"{rows}x{columns}"))


def named(function, name, size):
    function.__name__ = f"{name}_{size}"
    return function


def raveled(size):
    def function(x):
        """An array as a line: rolled, turned, joined with itself and its transpose."""
        line = x.ravel()
        tree, _ = ravel_pytree({"a": x, "b": (x[0], 2 * x)})
        return (jnp.roll(line, 1), line[::-1], jnp.hstack([line, 2 * line]), x.T.ravel()[::-1], tree,
                jnp.concatenate([x.T.ravel(), line])[::2], jnp.flip(x.reshape(-1, 1), 0))
    return named(function, "raveled", size)


def tiled(size):
    def function(x):
        """Repeated arrays, turned and cut."""
        return (jnp.flip(jnp.tile(x, (3, 2)), 1), jnp.repeat(x, 3, axis=1)[:, ::-1], jnp.tile(x.ravel(), 2)[::-1],
                jnp.repeat(x, 2, axis=0)[::3], jnp.kron(x[:2, :2], x[:2]), jnp.broadcast_to(x[None, 0], (3,) + x[0].shape).ravel()[::-1])
    return named(function, "tiled", size)


def padded(size):
    def function(x):
        """Padded arrays summed, shifted, compared with their neighbours."""
        wide = jnp.pad(x, 1)
        return (wide.sum(), wide.sum(0), wide.sum(1), (wide[2:, 1:-1] - wide[:-2, 1:-1]), jnp.pad(x.ravel(), (2, 1))[::-1],
                jnp.pad(x, ((0, 1), (2, 0))).max(1), jnp.pad(jnp.flip(x, 0), ((1, 0), (0, 0))).sum(0))
    return named(function, "padded", size)


def accumulated(size):
    def function(x):
        """Sums so far, places of extremes, masks, neighbours."""
        below = jnp.tril(x)
        return (jnp.cumsum(x, 0), jnp.cumsum(x, 1)[:, ::-1], jnp.argmax(x, 1), jnp.argmin(x.ravel()), below.sum(1),
                jnp.triu(x, 1).max(0), jnp.where(x > 0, x, -jnp.flip(x, 1)), jnp.diff(x, axis=1), jnp.cumprod(x[::-1], 0),
                jnp.trace(x), jax.lax.cummax(x.ravel()))
    return named(function, "accumulated", size)


def indexed(size):
    def function(x):
        """Rows and points by indices that are computed, clipped or sorted; updates of the array itself."""
        rows, columns = x.shape
        order = jnp.argsort(x[:, 0])
        places = jnp.arange(rows) * 7 % rows
        return (x[order], jnp.take_along_axis(x, jnp.argsort(x, 1), 1), x[places][::-1], jnp.sort(x, 0)[::-1],
                x.at[places].add(x), x.at[0].set(x[-1]), jnp.take(x, places * 2, axis=0, mode="clip"),
                jax.lax.dynamic_update_slice(x, x[:1] * 2, (rows - 1, 0)), jnp.stack([x, x[::-1]], 1).reshape(-1, columns))
    return named(function, "indexed", size)


at_sizes(raveled, exact=True)
at_sizes(tiled)
at_sizes(padded)
at_sizes(accumulated)
at_sizes(indexed)
