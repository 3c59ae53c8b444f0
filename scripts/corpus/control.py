"""Loops, branches, calls, custom derivatives."""

import functools

import jax
import jax.numpy as jnp
from jax import lax

from corpus.register import program
from models.spec import const, randint, symmetric, uniform


@program(const((), 27, "int32"), exact=True)
def collatz(n):
    """Steps of the Collatz walk: a while loop that depends on data."""
    def step(state):
        n, count = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1
    return lax.while_loop(lambda s: s[0] != 1, step, (n, 0))


@program(symmetric((5, 5), 0.25), symmetric((5,), 1))
def repeated_product(a, x):
    """A loop with a fixed number of turns."""
    return lax.fori_loop(0, 10, lambda i, y: jnp.tanh(a @ y) + i * 0.125, x)


@program(symmetric((12, 4), 1), symmetric((4,), 1))
def scan_with_outputs(xs, start):
    """A scan that keeps a state and stacks outputs; the same backwards."""
    def step(c, x):
        c = 0.5 * c + x
        return c, (c * x, jnp.sum(c))
    return lax.scan(step, start, xs), lax.scan(step, start, xs, reverse=True)[1]


@program(symmetric((3, 6), 1), symmetric((6,), 1))
def nested_loops(a, x):
    """A loop inside a loop."""
    def outer(y, row):
        y = lax.fori_loop(0, 4, lambda i, z: 0.5 * jnp.sin(z * row) + z / 4, y)
        return y, jnp.max(y)
    return lax.scan(outer, x, a)


@program(randint((), 0, 2, "bool"), symmetric((6,), 1), symmetric((6,), 1))
def branch(p, x, y):
    """A conditional with two branches that return a tuple."""
    return lax.cond(p, lambda a, b: (a + b, a[0]), lambda a, b: (a * b, b[1]), x, y)


@program(const((), 2, "int32"), symmetric((8,), 1))
def switch(i, x):
    """A conditional with four branches, also with an index out of range."""
    cases = [jnp.sin, lambda x: x**2, lambda x: -x, lambda x: jnp.cumsum(x)]
    return lax.switch(i, cases, x), lax.switch(i + 5, cases, x)


@program(randint((5,), 1, 60, "int32"), exact=True)
def batched_loop(n):
    """A while loop under vmap: every lane stops by itself."""
    def one(n):
        return lax.while_loop(lambda s: s[0] > 1, lambda s: (s[0] // 2, s[1] + 1), (n, 0))[1]
    return jax.vmap(one)(n)


@program(symmetric((10,), 2))
def custom_gradient(x):
    """A function with a derivative of its own."""
    @jax.custom_vjp
    def clipped(x):
        return jnp.sum(x**2)
    clipped.defvjp(lambda x: (jnp.sum(x**2), x), lambda x, g: (g * jnp.clip(2 * x, -1, 1),))
    return jax.value_and_grad(clipped)(x)


@program(symmetric((8, 8), 0.5), symmetric((4, 8), 1))
def rematerialised(w, x):
    """A gradient that recomputes the forward pass: an optimisation barrier."""
    layer = jax.checkpoint(lambda x: jnp.tanh(x @ w))
    return jax.grad(lambda x: jnp.sum(layer(layer(x))))(x)


@program(symmetric((16, 3), 0.5), uniform((16, 3), 0.5, 1))
def associative_scan(x, a):
    """A linear recurrence as a tree of combinations."""
    def combine(left, right):
        return left[0] * right[0], left[1] * right[0] + right[1]
    return lax.associative_scan(combine, (a, x))[1]


@program(symmetric((7,), 1), symmetric((7,), 1))
def calls(x, y):
    """Nested functions compiled apart, one of them called three times."""
    @functools.partial(jax.jit, inline=False)
    def inner(a, b):
        return a * b + jnp.sin(a)

    @jax.jit
    def outer(a, b):
        return inner(a, b) - inner(b, a)
    return outer(x, y), inner(y, y)


@program(symmetric((6, 4), 1), symmetric((4,), 1))
def mapped(xs, w):
    """A function over the rows, one after the other, and all at once."""
    f = lambda x: jnp.dot(x, w) / (1 + jnp.sum(x**2))  # noqa: E731
    return lax.map(f, xs), jax.vmap(f)(xs)
