"""Random numbers from a counter: the same on every machine."""

import jax
import jax.numpy as jnp
from jax import lax

from corpus.register import program
from models.spec import randint, symmetric

KEY = randint((2,), 0, 1 << 32, "uint32")


@program(KEY, exact=True, wide=False)
def random_bits(key):
    """Threefry: split keys and raw bits of three widths."""
    a, b = jax.random.split(key)
    return (jax.random.bits(a, (4, 3)), jax.random.bits(b, (6,), "uint8"),
            jax.random.bits(b, (5,), "uint16"), jax.random.fold_in(key, 7))


@program(KEY, wide=False)
def random_floats(key):
    """Uniform, normal, exponential and Gumbel draws."""
    k = jax.random.split(key, 4)
    return (jax.random.uniform(k[0], (8,)), jax.random.normal(k[1], (2, 5)),
            jax.random.exponential(k[2], (6,)), jax.random.gumbel(k[3], (6,)))


@program(KEY, symmetric((5,), 1), exact=True, wide=False)
def random_choices(key, logits):
    """Integers, coin tosses, a categorical draw."""
    k = jax.random.split(key, 3)
    return (jax.random.randint(k[0], (9,), -3, 12), jax.random.bernoulli(k[1], 0.25, (10,)),
            jax.random.categorical(k[2], logits, shape=(4,)))


@program(randint((4,), 0, 1 << 32, "uint32"), exact=True)
def bit_generator(state):
    """The instruction for random bits, by the Philox algorithm."""
    philox = lax.RandomAlgorithm.RNG_PHILOX
    return (lax.rng_bit_generator(state, (5, 3), algorithm=philox),
            lax.rng_bit_generator(state, (6,), "uint32", algorithm=philox))


@program(KEY, symmetric((6, 8), 1), wide=False)
def dropout(key, x):
    """Dropout and its gradient."""
    def f(x):
        keep = jax.random.bernoulli(key, 0.75, x.shape)
        return jnp.sum(jnp.where(keep, x / 0.75, 0) ** 2)
    return jax.value_and_grad(f)(x)
