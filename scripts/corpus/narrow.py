"""Floats of 8, 16 and 64 bits."""

import jax
import jax.numpy as jnp
import ml_dtypes
from jax import lax

from corpus.register import program
from models.spec import symmetric, uniform, values


@program(symmetric((4, 9), 2, "float16"), uniform((9,), 0.5, 2, "float16"))
def half_math(x, y):
    """f16 arithmetic and functions, each rounded."""
    return x * y + x, x / y, jnp.sqrt(y), jnp.exp(x), jnp.tanh(x), jnp.sum(x, axis=1), jnp.max(x)


@program(symmetric((4, 9), 2, "bfloat16"), uniform((9,), 0.5, 2, "bfloat16"))
def bfloat_math(x, y):
    """bf16 arithmetic and functions, each rounded."""
    return x * y + x, x / y, lax.rsqrt(y), jnp.log(y), jax.nn.gelu(x), jnp.mean(x, axis=0)


@program(symmetric((6, 16), 1, "bfloat16"), symmetric((16, 8), 0.5, "bfloat16"),
         symmetric((6, 16), 1, "float16"))
def mixed_precision_matmul(a, b, c):
    """Narrow operands with f32 accumulation, kept wide or rounded."""
    return (lax.dot(a, b, preferred_element_type=jnp.float32), a @ b,
            lax.dot(c, c.T, preferred_element_type=jnp.float32))


@program(symmetric((24,), 32), exact=True)
def eight_bit_floats(x):
    """To the f8 types and back."""
    return tuple(x.astype(t).astype(jnp.float32) for t in (
        jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.float8_e4m3fnuz, jnp.float8_e5m2fnuz,
        ml_dtypes.float8_e4m3b11fnuz))


@program(symmetric((4, 8), 2, "float8_e4m3fn"), symmetric((8, 3), 2, "float8_e5m2"))
def eight_bit_matmul(a, b):
    """f8 values multiplied in f32; the results as f16."""
    wide = a.astype(jnp.float32) @ b.astype(jnp.float32)
    return wide, wide.astype(jnp.float16), a.T


@program(values((12,), [1.0, 1.0 + 2**-8, 1.0 + 3 * 2**-9, 65504, 65520, 1e-5, -3.3895e38, 0.1,
                        2049, 2051, float("inf"), float("nan")]), exact=True, wide=False)
def narrowing(x):
    """Rounding to 16 bits: ties, overflow, special values."""
    return (x.astype(jnp.float16), x.astype(jnp.bfloat16),
            x.astype(jnp.bfloat16).astype(jnp.float16).astype(jnp.float32))


@program(symmetric((5, 6), 1, "float64"), symmetric((6, 5), 1, "float64"), x64=True)
def double_math(a, b):
    """f64 products, functions and reductions."""
    return a @ b, jnp.exp(a), jnp.sum(jnp.sin(b), axis=0), a.astype(jnp.float32), jnp.argmax(a)


@program(symmetric((6,), 1, "complex128"), x64=True)
def double_complex(z):
    """c128 arithmetic and its transform."""
    return z * z + 1j, jnp.abs(z), jnp.exp(z), jnp.fft.fft(z)
