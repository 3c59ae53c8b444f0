"""Elementwise work, movement, indexing and random numbers."""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy import special

from corpus.register import program
from models.spec import randint, symmetric, uniform


@program(symmetric((256, 256), 0.5))
def chain_with_reversals(x):
    """200 elementwise operations in a chain, every tenth a reversal."""
    for i in range(200):
        if i % 10 == 9:
            x = x[::-1] if i % 20 == 9 else x[:, ::-1]
        else:
            x = (x * 0.75 + 0.125, jnp.sin(x), jnp.abs(x) - 0.5, jnp.minimum(x, 0.5))[i % 4]
    return x


@program(uniform((1024, 1024), 0.5, 2))
def functions_mixed(x):
    """exp, log1p and tanh of a million numbers."""
    return jnp.tanh(jnp.exp(-x) + jnp.log1p(x)) * jnp.sqrt(x)


@program(symmetric((512, 512), 1))
def functions_angles(x):
    """Sines, cosines and their inverses."""
    return jnp.sin(x) * jnp.cos(3 * x) + jnp.arctan2(x, x + 2)


@program(symmetric((512, 1024), 2))
def functions_gaussian(x):
    """The error function, its gradient, and a power."""
    y, slope = jax.value_and_grad(lambda x: jnp.sum(jax.nn.gelu(x, approximate=False)))(x)
    return y, slope + jnp.abs(x) ** 1.5


@program(uniform((100, 100), 1.5, 4), uniform((100, 100), 1.5, 4))
def functions_special(x, y):
    """Hurwitz zeta, polygamma, and the gradients of digamma and log gamma: long, with many powers."""
    slope = jax.grad(lambda x: jnp.sum(special.digamma(x) + special.gammaln(x * y)))(x)
    return special.zeta(x, y), special.polygamma(2, x), slope


@program(symmetric((2048, 2048), 1), symmetric((2048, 2048), 1))
def large_elementwise(x, y):
    """A few operations on arrays that no cache holds."""
    return jnp.where(x > y, x * y + 1, x - y)


@program(symmetric((1024, 1024), 1, "bfloat16"), symmetric((1024, 1024), 1, "bfloat16"))
def elementwise_bf16(x, y):
    """A chain of bf16 operations, each rounded."""
    return jnp.maximum(x * y + x, 0) * 0.5 - y


@program(symmetric((64,), 1), symmetric((64,), 1))
def many_small_kernels(x, y):
    """40 small steps that need the whole array of the step before."""
    for _ in range(40):
        x, y = jnp.roll(x, 3) * 0.5 + jnp.max(y), jnp.sin(y - jnp.sum(x) / 64)
    return x, y


@program(symmetric((512, 512), 1, "complex64"), symmetric((512, 512), 1, "complex64"))
def complex_arithmetic(x, y):
    """Products, quotients and absolute values of complex numbers."""
    return x * y + x / (y + 3), jnp.abs(x - jnp.conj(y))


@program(randint((1024, 1024), -1000, 1000), randint((1024, 1024), 1, 100))
def integer_arithmetic(x, y):
    """Quotients, remainders, shifts and masks."""
    return x // y + x % y, (x << 3) ^ (y >> 1), jnp.where(x & 1 == 0, x, -y)


@program(symmetric((1024, 1024), 1))
def transpose(x):
    """A square matrix transposed."""
    return x.T


@program(symmetric((32, 64, 12, 64), 1))
def transpose_heads(x):
    """Two inner dimensions swapped, and scaled."""
    return jnp.transpose(x, (0, 2, 1, 3)) * 0.125


@program(symmetric((512, 512), 1))
def rolls_and_pads(x):
    """Rolls, flips, padding, stacking and strided slices."""
    y = jnp.roll(x, (3, 5), (0, 1)) - jnp.flip(x, 1)
    return jnp.concatenate([jnp.pad(y, 2, mode="reflect")[1:, 1:], jnp.pad(x[::2], ((0, 0), (3, 0)))])


@program(symmetric((8, 128, 128), 1))
def stencil(x):
    """A nine-point stencil with wrapped edges."""
    total = 0
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            total = total + (2 - abs(i)) * (2 - abs(j)) * jnp.roll(x, (i, j), (1, 2))
    return total / 16


@program(symmetric((1024, 1024), 1))
def triangular_masks(x):
    """The lower triangle, a band, and the diagonal."""
    i, j = lax.broadcasted_iota(jnp.int32, x.shape, 0), lax.broadcasted_iota(jnp.int32, x.shape, 1)
    return jnp.tril(x), jnp.where(abs(i - j) < 8, x, 0), jnp.diagonal(x)


@program(symmetric((10000, 64), 1), randint((64, 32), 0, 10000))
def embedding(table, places):
    """Rows of a table, summed in bags."""
    return jnp.sum(table[places], 1)


@program(symmetric((512, 512), 1), randint((512, 64), 0, 512))
def gather_along(x, places):
    """Elements taken along rows."""
    return jnp.take_along_axis(x, places, 1)


@program(symmetric((10000, 64), 1), randint((2048,), 0, 10000), symmetric((2048, 64), 1))
def scatter_add(table, places, updates):
    """Rows added to a table."""
    return table.at[places].add(updates)


@program(symmetric((16384, 8), 1), randint((16384,), 0, 256))
def segment_sums(x, segments):
    """Sums and largest elements of segments."""
    return jax.ops.segment_sum(x, segments, 256), jax.ops.segment_max(x, segments, 256)


@program(randint((65536,), 0, 1000))
def histogram(x):
    """How often each number occurs."""
    return jnp.zeros(1000, jnp.int32).at[x].add(1)


@program(randint((1024,), 0, 256), symmetric((256, 128), 1))
def one_hot_product(places, table):
    """A table read by a product with one-hot rows."""
    return jax.nn.one_hot(places, 256) @ table


@program(randint((2,), 0, 1 << 20, "uint32"), wide=False)
def random_normal(key):
    """A quarter of a million normal numbers from Threefry."""
    return jax.random.normal(jax.random.wrap_key_data(key), (512, 512))


@program(symmetric((512, 512), 1), randint((2,), 0, 1 << 20, "uint32"), wide=False)
def dropout(x, key):
    """A tenth of the elements dropped."""
    keep = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.9, x.shape)
    return jnp.where(keep, x / 0.9, 0)


@functools.partial(jax.vmap, in_axes=(0, None))
def black_scholes(spot, strike):
    d = (jnp.log(spot / strike) + 0.125) / 0.5
    normal = jax.scipy.stats.norm.cdf
    return spot * normal(d) - strike * jnp.exp(-0.0625) * normal(d - 0.5)


@program(uniform((262144,), 0.5, 2))
def option_prices(spot):
    """A formula with logarithms and normal distributions, and its slope."""
    strike = jnp.float32(1.0)
    return black_scholes(spot, strike), jax.grad(lambda s: jnp.sum(black_scholes(s, strike)))(spot)


@program(symmetric((64, 64, 64), 1))
def stencil_3d(x):
    """Weighted means of neighbours along each of three dimensions, around the ends."""
    for d in range(3):
        x = (jnp.roll(x, 1, d) + 2 * x + jnp.roll(x, -1, d)) / 4
    return x


@program(symmetric((256, 256, 3), 1))
def edges(image):
    """Where an image of three colours changes: its brightness, and that less its neighbours."""
    light = image @ jnp.array([0.3, 0.6, 0.1])
    across, down = light[:, 2:] - light[:, :-2], light[2:] - light[:-2]
    return (jnp.hypot(across[1:-1], down[:, 1:-1]) > 0.5).astype(jnp.uint8)


@program(symmetric((64, 48, 48), 1))
def padded_edges(images):
    """Steepness of images whose edges are repeated: sums of slices of what was padded."""
    p = jnp.pad(images, ((0, 0), (1, 1), (1, 1)), mode="edge")
    across = sum(k * (p[:, i:i + 48, 2:] - p[:, i:i + 48, :-2]) for i, k in enumerate((1, 2, 1)))
    down = sum(k * (p[:, 2:, i:i + 48] - p[:, :-2, i:i + 48]) for i, k in enumerate((1, 2, 1)))
    return jnp.sqrt(across * across + down * down)


@program(uniform((256, 256, 3), 0, 1))
def hues(image):
    """From red, green and blue to hue and value: extremes of three, and remainders of floats."""
    r, g, b = image[..., 0], image[..., 1], image[..., 2]
    value, least = image.max(-1), image.min(-1)
    c = jnp.maximum(value - least, 0.0625)
    hue = jnp.where(value == r, (g - b) / c % 6, jnp.where(value == g, (b - r) / c + 2, (r - g) / c + 4))
    return jnp.stack([hue / 6, value], -1)


@program(uniform((128, 128), 0, 1), uniform((128, 128, 2), 0, 63.5))
def warped_image(image, halves):
    """An image at places between its pixels: four gathers by pairs of indices."""
    places = 2 * halves
    y, x = jnp.floor(places[..., 0]).astype(int), jnp.floor(places[..., 1]).astype(int)
    down, right = places[..., 0] - y, places[..., 1] - x
    below, beside = jnp.minimum(y + 1, 127), jnp.minimum(x + 1, 127)
    upper = image[y, x] * (1 - right) + image[y, beside] * right
    lower = image[below, x] * (1 - right) + image[below, beside] * right
    return upper * (1 - down) + lower * down


@program(uniform((256, 256), 0, 1), uniform((256, 3), 0, 1))
def colour_table(image, table):
    """A colour for each brightness: rows of three by one index."""
    bright = (image - image.min()) / (image.max() - image.min())
    return table[jnp.clip((bright * 255).astype(jnp.int32), 0, 255)]


@program(symmetric((52, 52, 4), 1))
def reflected_blur(image):
    """Means over neighbours, with borders that are reflected: nine slices of what was padded."""
    p = jnp.pad(image, ((1, 1), (1, 1), (0, 0)), mode="reflect")
    return sum(p[i:i + 52, j:j + 52] for i in range(3) for j in range(3)) / 9
