"""Operations that move elements between devices: cuts, shifts, sorts, products of other sizes."""

import jax
import jax.numpy as jnp
from jax import lax

from corpus.register import program
from models.spec import randint, symmetric
from sharded.mesh import constrain, divided


@program(symmetric((16, 8), 1), exact=True, divided=(divided("data", "model"),))
def turned(x):
    """Transposed, rolled, reversed, joined, tiled, cut with strides: each divided otherwise."""
    t = constrain(x.T, "data", "model")
    rolled = constrain(jnp.roll(x, 3, 0), "data")
    back = constrain(x[::-1, ::-1], "model", "data")
    joined = constrain(jnp.concatenate([x[:5], x[9:], x]), "data")
    strided = constrain(x[1:15:2], "model")
    return t, rolled, back, joined, jnp.tile(strided, (2, 1)), jnp.pad(x, ((3, 1), (1, 2)))


@program(symmetric((16, 12), 1), divided=(divided("data", "model"),))
def running(x):
    """Sums and products so far, along divided dimensions."""
    return jnp.cumsum(x, 0), jnp.cumprod(x, 1), jnp.diff(x, axis=0), lax.associative_scan(jnp.add, x, reverse=True)


@program(symmetric((16, 6), 1), randint((16,), 0, 9), divided=(divided("data"), divided("data")))
def sorted_rows(x, keys):
    """Sorts along divided dimensions, with what they carry along; largest values and where they stand."""
    order = jnp.argsort(keys, stable=True)
    values, places = lax.top_k(x.T, 3)
    return jnp.sort(x, 0), x[order], values, places, jnp.argmax(x, 0), jnp.median(x, 0)


@program(symmetric((10, 14), 1), symmetric((14, 6), 1), divided=(divided(), divided()))
def uneven(x, y):
    """Dimensions that their devices do not divide: ten rows over four of them."""
    p = constrain(x @ y, "data", None)
    q = constrain(jnp.sin(x), "data", "model")
    return p, jnp.sum(q, 0), jnp.max(q, 1), constrain(jnp.reshape(q, (14, 10)), "model", "data")


@program(symmetric((8, 8, 8), 1), randint((5,), 0, 8), randint((), 0, 4), divided=(divided("data", "model"), divided(), divided()))
def picked(x, rows, start):
    """Rows and windows at places known at run time; written back, too."""
    taken = x[rows]
    window = lax.dynamic_slice(x, (start, 1, 2), (3, 4, 5))
    written = lax.dynamic_update_slice(x, window * 2, (1, start, 0))
    added = constrain(x, None, "data").at[rows].add(taken)
    return taken, window, written, added


@program(symmetric((8, 16), 1), symmetric((8, 16), 1), divided=(divided("data", "model"), divided("data", "model")))
def spectrum(x, y):
    """A convolution by Fourier transforms along a divided dimension."""
    product = jnp.fft.rfft(x) * jnp.fft.rfft(y)
    return jnp.fft.irfft(product, 16), jnp.abs(product)


@program(randint((2,), 0, 1000, "uint32"), wide=False, divided=(divided(),))
def noise(key):
    """Random numbers: each device makes its own part of what one device would make."""
    normal = constrain(jax.random.normal(key, (16, 8)), "data", "model")
    kept = constrain(jax.random.bernoulli(key, 0.5, (16, 8)), "data")
    return jnp.where(kept, normal, 0), jax.random.permutation(key, 12)
