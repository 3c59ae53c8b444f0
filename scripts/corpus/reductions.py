"""Reductions, windows, prefix sums, statistics."""

import jax
import jax.numpy as jnp
from jax import lax

from corpus.register import program
from models.spec import randint, symmetric, uniform, values


@program(symmetric((4, 5, 6), 1))
def sums_and_moments(x):
    """Sum, mean, variance and product over various dimensions."""
    return (jnp.sum(x), jnp.sum(x, axis=0), jnp.mean(x, axis=(0, 2)), jnp.var(x, axis=1),
            jnp.std(x, axis=2, keepdims=True), jnp.prod(1 + x / 4, axis=-1))


@program(symmetric((7, 9), 1), randint((7, 9), 0, 2, "bool"), randint((7, 9), 0, 64), exact=True)
def extremes_and_logic(x, p, n):
    """Largest, smallest, all, any, and bitwise reductions."""
    zero = jnp.int32(0)
    return (jnp.max(x, axis=0), jnp.min(x), jnp.all(p, axis=1), jnp.any(p, axis=0),
            lax.reduce(n, jnp.int32(-1), lax.bitwise_and, (0,)),
            lax.reduce(n, zero, lax.bitwise_or, (1,)),
            lax.reduce(n, zero, lax.bitwise_xor, (0, 1)))


@program(values((3, 6), [3, 1, 3, 0, 3, -1, 2, 2, 2, 2, 2, 2, -1, float("nan"), 5, 5, 1, 0]),
         exact=True)
def argmax_with_ties(x):
    """Argmax and argmin where several are equal or NaN."""
    return jnp.argmax(x, axis=1), jnp.argmin(x, axis=1), jnp.argmax(x, axis=0), jnp.nanmax(x)


@program(symmetric((5, 16), 1))
def prefix_sums(x):
    """Cumulative sums, products, extremes and log-sum-exp, forwards and backwards."""
    return (jnp.cumsum(x, axis=1), jnp.cumprod(1 + x / 8, axis=0), lax.cummax(x, axis=1),
            lax.cummin(x, axis=0, reverse=True), lax.cumlogsumexp(x, axis=1),
            lax.cumsum(x, axis=1, reverse=True))


@program(symmetric((6, 11), 4))
def softmax_family(x):
    """Softmax, log-softmax, log-sum-exp, normalisation."""
    return (jax.nn.softmax(x), jax.nn.log_softmax(x, axis=0), jax.nn.logsumexp(x, axis=1),
            jax.nn.standardize(x), x / jnp.linalg.norm(x, axis=1, keepdims=True))


@program(symmetric((1, 9, 8, 3), 1))
def pooling(x):
    """Windows with strides, padding and dilation."""
    window, ones = (1, 3, 3, 1), (1, 1, 1, 1)
    return (lax.reduce_window(x, -jnp.inf, lax.max, window, (1, 2, 2, 1), "SAME"),
            lax.reduce_window(x, 0.0, lax.add, window, ones, "VALID") / 9,
            lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), ones, ((0, 0), (1, 0), (0, 1), (0, 0)),
                              base_dilation=ones, window_dilation=(1, 2, 2, 1)))


@program(symmetric((1, 8, 8, 2), 1))
def pooling_gradient(x):
    """The gradient of max and average pooling."""
    def score(x):
        top = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        mean = lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")
        return jnp.sum(jnp.sin(top)) + jnp.sum(mean**2)
    return jax.grad(score)(x)


@program(symmetric((40,), 1), randint((40,), 0, 9))
def grouped_sums(x, group):
    """Sums, largest and counts by group."""
    return (jax.ops.segment_sum(x, group, 9), jax.ops.segment_max(x, group, 9),
            jnp.bincount(group, length=9))


@program(uniform((64,), 0, 1), exact=True)
def histogram(x):
    """Counts in eight bins."""
    return jnp.histogram(x, bins=8, range=(0, 1))[0]


@program(symmetric((31,), 1), symmetric((31,), 1))
def robust_statistics(x, y):
    """Median, quantiles and correlation."""
    return (jnp.median(x), jnp.quantile(x, jnp.array([0.1, 0.5, 0.9])), jnp.corrcoef(x, y)[0, 1],
            jnp.ptp(x), jnp.average(x, weights=y**2))


@program(symmetric((6, 10), 1), randint((6, 10), 0, 100))
def variadic_reduce(x, n):
    """One reduction over two operands of different types."""
    def largest(a, b):
        first = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
        return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])
    return lax.reduce((x, n), (jnp.float32(-jnp.inf), jnp.int32(0)), largest, (1,))
