"""Integers of every width: arithmetic, bits, conversions, quantised products."""

import jax.numpy as jnp
from jax import lax

from corpus.register import program
from models.spec import iota, randint, symmetric, values


@program(values((10,), [7, -7, 7, -7, 0, 2147483647, -2147483648, 100, -100, 5], "int32"),
         values((10,), [2, 2, -2, -2, 3, 2, 2, 7, 7, -5], "int32"), exact=True)
def integer_division(a, b):
    """Quotients and remainders of both signs, both conventions."""
    return lax.div(a, b), lax.rem(a, b), a // b, a % b, a * b, jnp.abs(a), jnp.sign(a), a**2


@program(randint((16,), 0, 1 << 32, "uint32"), randint((16,), 0, 40, "uint32"), exact=True)
def bit_twiddling(a, n):
    """And, or, xor, shifts beyond the width, population count, leading zeros."""
    signed = lax.bitcast_convert_type(a, jnp.int32)
    by = n.astype(jnp.int32)
    return (a & n, a | n, a ^ n, ~a, lax.shift_left(a, n), lax.shift_right_logical(a, n),
            lax.shift_right_arithmetic(signed, by), lax.population_count(a), lax.clz(a),
            lax.shift_left(signed, by))


@program(randint((12,), -128, 128, "int8"), randint((12,), 0, 256, "uint8"),
         randint((12,), -32768, 32768, "int16"), randint((12,), 0, 65536, "uint16"), exact=True)
def narrow_integers(a, b, c, d):
    """Arithmetic that wraps in 8 and 16 bits, and conversions between them."""
    return (a + a, b * b, c - a.astype(jnp.int16), d // jnp.uint16(7), a.astype(jnp.uint8),
            b.astype(jnp.int8), c.astype(jnp.int8), jnp.maximum(a, 3), jnp.minimum(b, 200),
            a.astype(jnp.float32) / 4)


@program(randint((3, 6), -8, 8, "int4"), randint((3, 6), 0, 16, "uint4"), exact=True)
def four_bit_integers(a, b):
    """s4 and u4: to wider types, back, and the products there."""
    wide = a.astype(jnp.int8) * b.astype(jnp.int8)
    return wide, (wide >> 2).astype(jnp.int4), b.astype(jnp.float32), a.T


@program(values((9,), [0.5, -0.5, 1.5, 2.5, -3.75, 300.25, -300.25, 70000.0, -1.0]), exact=True)
def float_to_integer(x):
    """Truncating conversions, inside and outside the range."""
    return x.astype(jnp.int32), x.astype(jnp.int8), x.astype(jnp.uint8), x.astype(jnp.int16)


@program(randint((6, 10), -128, 128, "int8"), randint((10, 4), -128, 128, "int8"),
         symmetric((4,), 0.25))
def quantised_matmul(a, b, scale):
    """s8 times s8 into s32, then scaled to f32."""
    wide = lax.dot(a, b, preferred_element_type=jnp.int32)
    return wide, wide.astype(jnp.float32) * scale


@program(randint((8,), -1000, 1000, "int64"), randint((8,), 0, 1 << 31, "uint64"), exact=True,
         x64=True)
def wide_integers(a, b):
    """64-bit products, shifts and a multiplicative hash."""
    mixed = b * jnp.uint64(0x9E3779B97F4A7C15)
    return a * a * a, mixed ^ (mixed >> jnp.uint64(29)), a.astype(jnp.int32), jnp.sum(a)


@program(randint((32,), 0, 200, "uint8"), exact=True)
def checksum(data):
    """Adler-32 by prefix sums."""
    a = 1 + jnp.cumsum(data.astype(jnp.uint32))
    b = jnp.sum(a % 65521) % 65521
    return b << 16 | (a[-1] % 65521)


@program(iota((30,)), exact=True)
def primes(n):
    """Trial division of all by all."""
    divides = (n[:, None] % jnp.maximum(n, 1)[None, :] == 0) & (n > 1) & (n < n[:, None])
    return (n > 1) & ~jnp.any(divides, axis=1)
