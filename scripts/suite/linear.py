"""Products, convolutions, factorisations and transforms."""

import jax
import jax.numpy as jnp
from jax import lax

from corpus.register import program
from models.spec import const, randint, symmetric, uniform


def positive_definite(a):
    return a @ jnp.swapaxes(a, -1, -2) + jnp.eye(a.shape[-1], dtype=a.dtype)


@program(symmetric((512, 6, 6), 1), symmetric((512, 6, 2), 1), platform="tpu")
def batched_cholesky(a, b):
    """512 systems of six equations by Cholesky."""
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(positive_definite(a)), True), b)


@program(symmetric((4096, 4, 4), 1), symmetric((4096, 4, 4), 1), symmetric((4096, 4), 1))
def batched_small_products(a, b, x):
    """4,096 products of 4 x 4 matrices, with each other and with vectors."""
    return jnp.einsum("bij,bjk,bk->bi", a, b, x)


@program(symmetric((1024, 3, 3), 1))
def batched_inverse(a):
    """The inverses of 1,024 matrices of 3 x 3 by cofactors."""
    a = positive_definite(a)
    rows = [jnp.cross(a[:, (i + 1) % 3], a[:, (i + 2) % 3]) for i in range(3)]
    adjugate = jnp.stack(rows, -1)
    return adjugate / jnp.sum(a[:, 0] * rows[0], -1)[:, None, None]


@program(symmetric((2048, 8, 8), 1), symmetric((2048, 8, 8), 1))
def batched_products_of_eight(a, b):
    """2,048 products of 8 x 8 matrices, the second one transposed."""
    return jnp.einsum("bij,bkj->bik", a, b)


@program(symmetric((4096, 3, 3), 1), symmetric((4096, 3), 1), symmetric((4096, 3), 1))
def rigid_transforms(rotations, points, offsets):
    """4,096 points rotated and moved, and the lengths of the results."""
    moved = jnp.einsum("bij,bj->bi", rotations, points) + offsets
    return moved, jnp.sqrt(jnp.sum(moved * moved, -1))


@program(symmetric((64, 4096), 1), symmetric((2049,), 1))
def fft_filter(signal, response):
    """64 real signals filtered in the frequency domain."""
    return jnp.fft.irfft(jnp.fft.rfft(signal) * response, 4096)


@program(symmetric((8, 1000), 1), symmetric((201,), 0.125))
def fft_convolution(signal, taps):
    """Convolution by real transforms of a length that is no power of two."""
    size = 1200
    return jnp.fft.irfft(jnp.fft.rfft(signal, size) * jnp.fft.rfft(taps, size), size)


@program(symmetric((256, 256), 1))
def fft_image(image):
    """A complex transform of an image there and back, with a mask between."""
    spectrum = jnp.fft.fft2(image)
    low = jnp.abs(jnp.fft.fftfreq(256)) < 0.25
    return jnp.real(jnp.fft.ifft2(jnp.where(low[:, None] & low, spectrum, 0)))


@program(randint((256, 512), -128, 128, "int8"), randint((512, 512), -128, 128, "int8"))
def int8_product(a, b):
    """A product of bytes summed in 32 bits."""
    return lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)


@program(symmetric((256, 256), 1), randint((256, 512), -127, 128, "int8"),
         uniform((512,), 0.5, 1))
def quantised_layer(x, weights, scale):
    """Activations quantised to bytes, a product, and back to floats."""
    size = jnp.max(jnp.abs(x), -1, keepdims=True) / 127
    q = jnp.clip(jnp.round(x / size), -127, 127).astype(jnp.int8)
    y = lax.dot_general(q, weights, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
    return jax.nn.relu(y.astype(jnp.float32) * size * scale)


@program(symmetric((256, 512), 1), symmetric((512, 512), 0.125))
def matmul_even(a, b):
    """A product of sizes that are powers of two."""
    return a @ b


@program(symmetric((127, 331), 1), symmetric((331, 203), 0.125), symmetric((203,), 1))
def matmul_odd(a, b, c):
    """A product of odd sizes with a bias and an activation."""
    return jax.nn.gelu(a @ b + c)


@program(symmetric((1, 1024), 1), symmetric((1024, 4096), 0.125))
def matrix_vector(x, w):
    """One row times a matrix of 16 MB."""
    return x @ w


@program(symmetric((512, 512), 1, "bfloat16"), symmetric((512, 512), 0.125, "bfloat16"))
def matmul_bf16(a, b):
    """A product in bf16."""
    return a @ b


@program(symmetric((32, 64, 64), 1), symmetric((32, 64, 64), 0.25))
def batched_matmul(a, b):
    """32 products of 64 x 64 matrices, the second one transposed."""
    return jnp.einsum("bij,bkj->bik", a, b)


@program(symmetric((4, 256, 3, 8, 64), 1))
def causal_attention(qkv):
    """Eight heads of masked attention over 256 places."""
    q, k, v = (qkv[:, :, i] for i in range(3))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8
    scores = jnp.where(jnp.tril(jnp.ones((256, 256), bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


@program(symmetric((4, 32, 32, 32), 1), symmetric((3, 3, 32, 32), 0.125),
         symmetric((3, 3, 32, 64), 0.125))
def conv_net(x, first, second):
    """Two convolutions with activations and a pooling."""
    def conv(x, w, stride):
        return lax.conv_general_dilated(x, w, (stride, stride), "SAME",
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = jax.nn.relu(conv(x, first, 1))
    x = jax.nn.relu(conv(x, second, 2))
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


@program(symmetric((4, 56, 56, 64), 1), symmetric((3, 3, 1, 64), 0.5),
         symmetric((64, 64), 0.125))
def separable_conv(x, depth, point):
    """A depthwise convolution and a pointwise one."""
    x = lax.conv_general_dilated(x, depth, (1, 1), "SAME", feature_group_count=64,
                                 dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.nn.relu(x) @ point


@program(symmetric((128, 64), 1), symmetric((64, 64), 0.25), symmetric((64, 10), 0.25),
         randint((128,), 0, 10), const((), 0.125))
def train_step(x, first, second, labels, rate):
    """Loss, gradients and new weights of a small network."""
    def loss(weights):
        logits = jnp.tanh(x @ weights[0]) @ weights[1]
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
        return -jnp.mean(picked)
    value, slopes = jax.value_and_grad(loss)((first, second))
    return value, first - rate * slopes[0], second - rate * slopes[1]


@program(symmetric((1000,), 1), symmetric((31,), 1))
def convolve(sound, kernel):
    """A sound of one channel and a kernel of 31: convolution and correlation."""
    return jnp.convolve(sound, kernel, "full"), jnp.correlate(sound, kernel, "same")


@program(symmetric((128, 128), 1), symmetric((128, 128), 1))
def matmul_complex(real, imaginary):
    """A product of complex matrices."""
    x = real + 1j * imaginary
    return x @ jnp.conj(x).T
