"""Convolutions of every kind, their gradients, and Fourier transforms."""

import jax
import jax.numpy as jnp
from jax import lax

from corpus.register import program
from models.spec import symmetric

NHWC = ("NHWC", "HWIO", "NHWC")


@program(symmetric((2, 8, 7, 3), 1), symmetric((3, 3, 3, 4), 0.5))
def convolve_strided(x, w):
    """Strides, same and valid padding, uneven explicit padding."""
    def f(strides, padding):
        return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=NHWC)
    return f((1, 1), "SAME"), f((2, 2), "VALID"), f((2, 1), ((0, 2), (1, 0)))


@program(symmetric((1, 9, 9, 2), 1), symmetric((3, 2, 2, 3), 0.5))
def convolve_dilated(x, w):
    """A dilated kernel, a dilated input (transposed), and both."""
    def f(inner, outer):
        return lax.conv_general_dilated(x, w, (1, 1), ((2, 1), (1, 1)), lhs_dilation=inner,
                                        rhs_dilation=outer, dimension_numbers=NHWC)
    return (f((1, 1), (2, 3)), f((2, 2), (1, 1)), f((2, 1), (1, 2)),
            lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=NHWC))


@program(symmetric((1, 6, 6, 4), 1), symmetric((3, 3, 2, 6), 0.5), symmetric((3, 3, 1, 8), 0.5))
def convolve_grouped(x, w, d):
    """Two groups, and one group per channel."""
    return (lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=NHWC,
                                     feature_group_count=2),
            lax.conv_general_dilated(x, d, (1, 1), "VALID", dimension_numbers=NHWC,
                                     feature_group_count=4))


@program(symmetric((2, 3, 10), 1), symmetric((4, 3, 3), 0.5), symmetric((1, 4, 5, 4, 2), 1),
         symmetric((2, 3, 2, 2, 3), 0.5))
def convolve_other_ranks(line, w, volume, k):
    """One and three spatial dimensions, channels first and last."""
    return (lax.conv_general_dilated(line, w, (2,), "SAME"),
            lax.conv_general_dilated(volume, k, (1, 2, 1), "VALID",
                                     dimension_numbers=("NDHWC", "DHWIO", "NDHWC")))


@program(symmetric((2, 6, 6, 2), 1), symmetric((3, 3, 2, 3), 0.5), symmetric((3, 3, 1, 2), 0.5))
def convolution_gradients(x, w, d):
    """Gradients by input and kernel: reversed kernels, batch groups."""
    def score(x, w, d):
        y = lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=NHWC)
        z = lax.conv_general_dilated(x, d, (1, 1), "SAME", dimension_numbers=NHWC,
                                     feature_group_count=2)
        return jnp.sum(jnp.sin(y)) + jnp.sum(z**2)
    return jax.grad(score, argnums=(0, 1, 2))(x, w, d)


@program(symmetric((16,), 1), symmetric((5,), 1))
def correlate_1d(x, k):
    """numpy's convolve and correlate."""
    return jnp.convolve(x, k), jnp.correlate(x, k, mode="same")


@program(symmetric((3, 12), 1, "complex64"), symmetric((3, 16), 1))
def fourier(z, x):
    """Complex, real and inverse transforms, and a product of spectra."""
    spectrum = jnp.fft.rfft(x)
    return (jnp.fft.fft(z), jnp.fft.ifft(z), spectrum, jnp.fft.irfft(spectrum * spectrum),
            jnp.abs(jnp.fft.fft(x)))


@program(symmetric((6, 8), 1))
def fourier_2d(x):
    """Two-dimensional transforms and a shift of the spectrum."""
    half = jnp.fft.rfft2(x)
    return jnp.fft.fft2(x), jnp.fft.fftshift(half.real), jnp.fft.irfft2(half)
