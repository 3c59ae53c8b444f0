"""Element by element: functions, comparisons, rounding, bits of floats."""

import jax
import jax.numpy as jnp
from jax import lax

from corpus.register import program
from models.spec import randint, symmetric, uniform, values

NAN, INF = float("nan"), float("inf")


@program(uniform((4, 8), 0.25, 2.5))
def unary_math(x):
    """Exponentials, logarithms, roots, trigonometry."""
    return (jnp.exp(x), jnp.log(x), jnp.expm1(x), jnp.log1p(x), jnp.sqrt(x), lax.rsqrt(x),
            jnp.cbrt(x), jnp.sin(x), jnp.cos(x), jnp.tan(x), jnp.tanh(x), jax.nn.sigmoid(x),
            lax.erf(x), jnp.exp2(x))


@program(symmetric((16,), 0.9375), uniform((16,), 1.125, 4))
def inverse_trig(x, y):
    """Inverse and hyperbolic functions."""
    return (jnp.arcsin(x), jnp.arccos(x), jnp.arctan(x), jnp.arctan2(x, y), jnp.sinh(x),
            jnp.cosh(x), jnp.arcsinh(x), jnp.arccosh(y), jnp.arctanh(x))


@program(symmetric((16,), 0.9375), uniform((16,), 0.5, 6))
def special_functions(x, y):
    """Functions that JAX expands into long polynomials."""
    return lax.erfc(x), lax.erf_inv(x), lax.lgamma(y), lax.digamma(y), lax.bessel_i0e(x)


@program(values((12,), [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e30, -1e30, 3.0]),
         values((12,), [1.0, NAN, 2.0, -0.0, 0.0, INF, -INF, 0.25, 4.0, NAN, 1e30, -3.0]),
         exact=True)
def float_edges(x, y):
    """NaN, infinities and signed zeros through comparison and selection."""
    return (jnp.maximum(x, y), jnp.minimum(x, y), jnp.sign(x), jnp.abs(x), -x, jnp.isnan(x),
            jnp.isfinite(x), x < y, x <= y, x == y, x != y, jnp.where(x > y, x, y),
            jnp.copysign(x, y), jnp.signbit(x), lax.clamp(-2.0, x, 2.0))


@program(symmetric((24,), 4), exact=True)
def rounding(x):
    """Floor, ceiling, both kinds of nearest, truncation, reduced precision."""
    return (jnp.floor(x), jnp.ceil(x), jnp.round(x), lax.round(x), jnp.trunc(x),
            lax.reduce_precision(x, 5, 3), lax.reduce_precision(x, 8, 7))


@program(symmetric((20,), 3), uniform((20,), 0.5, 2))
def powers(x, y):
    """Powers, remainders, hypotenuse."""
    return (x**5, x**-2, y**x, jnp.hypot(x, y), jnp.mod(x, y), lax.rem(x, y), jnp.square(y),
            jnp.reciprocal(y), jnp.float_power(y, 1.5))


@program(randint((4, 6), 0, 2, "bool"), randint((4, 6), 0, 2, "bool"), symmetric((4, 6), 1),
         symmetric((6,), 1), exact=True)
def logic(p, q, x, y):
    """Boolean algebra and selection with broadcast operands."""
    return p & q, p | q, p ^ q, ~p, jnp.where(p, x, y), jnp.where(p & (x > y), 1, 0), jnp.any(p)


@program(symmetric((3, 5), 1, "complex64"), symmetric((3, 5), 1, "complex64"))
def complex_math(z, w):
    """Complex arithmetic, exponential, magnitude, parts."""
    return (z * w + 1, z / (w + 3), jnp.exp(z), jnp.abs(z), jnp.conj(z), jnp.real(z), jnp.imag(z),
            jnp.angle(w), lax.complex(z.real, w.imag))


@program(symmetric((8,), 8), randint((8,), 0, 1 << 32, "uint32"), exact=True,
         wide=False)
def bitcasts(x, u):
    """The bits of floats as integers, and of words as bytes."""
    bits = lax.bitcast_convert_type(x, jnp.uint32)
    return (bits, bits >> 23 & 0xFF, lax.bitcast_convert_type(u, jnp.uint8),
            lax.bitcast_convert_type(lax.bitcast_convert_type(u, jnp.uint16), jnp.uint32),
            jnp.nextafter(x, jnp.float32(9)))


@program(symmetric((5, 1, 4), 1), symmetric((3, 1), 1), symmetric((), 1))
def broadcasting(x, y, s):
    """Operands of different rank and with dimensions of one."""
    return x * y + s, jnp.broadcast_to(y, (2, 3, 4)) - s, x[:, 0] @ jnp.ones((4, 2))


@program(symmetric((6, 9), 3))
def activations(x):
    """The usual activation functions."""
    return (jax.nn.relu(x), jax.nn.gelu(x), jax.nn.gelu(x, approximate=False), jax.nn.silu(x),
            jax.nn.softplus(x), jax.nn.elu(x), jax.nn.leaky_relu(x), jax.nn.hard_swish(x),
            jax.nn.log_sigmoid(x), jax.nn.glu(x[:, :8]))
