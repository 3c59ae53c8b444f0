"""Reductions, normalisations, cumulative operations and sorting."""

import jax
import jax.numpy as jnp
from jax import lax

from corpus.register import program
from models.spec import randint, symmetric, uniform


@program(symmetric((1, 4096, 768), 1, "bfloat16"), uniform((768,), 0.5, 1.5, "bfloat16"),
         symmetric((768,), 0.5, "bfloat16"))
def layer_norm_bf16(x, scale, bias):
    """Layer norm of bf16 rows with statistics in f32."""
    y = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    y = (y - jnp.mean(y, -1, keepdims=True)) * lax.rsqrt(jnp.var(y, -1, keepdims=True) + 1e-5)
    return (y * scale + bias).astype(x.dtype)


@program(symmetric((1024, 768), 1), uniform((768,), 0.5, 1.5), symmetric((768,), 0.5))
def layer_norm(x, scale, bias):
    """Layer norm of f32 rows."""
    y = (x - jnp.mean(x, -1, keepdims=True)) * lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-5)
    return y * scale + bias


@program(symmetric((2048, 1024), 0.0625, "bfloat16"))
def row_sums_bf16(x):
    """Sums and means of bf16 rows."""
    return jnp.sum(x, -1), jnp.mean(x, -1)


@program(symmetric((2048, 1024), 0.0625, "bfloat16"))
def column_sums_bf16(x):
    """Sums of bf16 columns."""
    return jnp.sum(x, 0)


@program(symmetric((64, 128, 256), 1, "bfloat16"))
def middle_mean_bf16(x):
    """Means of bf16 over a middle dimension."""
    return jnp.mean(x, 1)


@program(symmetric((1024, 1024), 1))
def column_sums(x):
    """Sums and largest elements of f32 columns."""
    return jnp.sum(x, 0), jnp.max(x, 0)


@program(symmetric((512, 1024), 1))
def statistics(x):
    """Mean, deviation, smallest and largest of everything."""
    return jnp.mean(x), jnp.std(x), jnp.min(x), jnp.max(x)


@program(symmetric((512, 1024), 4))
def softmax(x):
    """Softmax of rows."""
    return jax.nn.softmax(x)


@program(symmetric((32, 128, 256), 4))
def softmax_middle(x):
    """Softmax over a middle dimension."""
    return jax.nn.softmax(x, 1)


@program(symmetric((256, 512), 4), symmetric((256, 512), 1))
def softmax_gradient(x, weights):
    """The gradient of a weighted softmax."""
    return jax.grad(lambda x: jnp.sum(jax.nn.softmax(x) * weights))(x)


@program(symmetric((256, 1024), 4))
def log_sum_exp(x):
    """The logarithm of a sum of exponentials, and its gradient."""
    return jax.value_and_grad(lambda x: jnp.sum(jax.nn.logsumexp(x, -1)))(x)


@program(symmetric((512, 1024), 1))
def cumulative_sum(x):
    """Running sums of rows."""
    return jnp.cumsum(x, 1)


@program(symmetric((1024, 256), 1))
def cumulative_maximum(x):
    """Running maxima of columns."""
    return lax.cummax(x, 0)


@program(symmetric((256, 1024), 1))
def arg_max(x):
    """Where rows and columns have their largest element."""
    return jnp.argmax(x, 1), jnp.argmax(x, 0)


@program(symmetric((65536,), 1))
def doubling_scan(x):
    """Running sums by doubling: sixteen shifted additions."""
    for step in range(16):
        x = x + jnp.pad(x[:-(1 << step)], (1 << step, 0))
    return x


@program(uniform((32768,), 0.5, 1.0), symmetric((32768,), 1))
def linear_recurrence(decay, x):
    """A recurrence x[i] + decay[i] * y[i - 1], as a scan of pairs."""
    def combine(first, second):
        return first[0] * second[0], first[1] * second[0] + second[1]
    return lax.associative_scan(combine, (decay, x))[1]


@program(symmetric((64, 2048), 1))
def top_k(x):
    """The eight largest of each row."""
    return lax.top_k(x, 8)


@program(symmetric((65536,), 1))
def arg_sort(x):
    """The order of 65,536 numbers."""
    return jnp.argsort(x)


@program(symmetric((64, 1024), 1))
def sort_rows(x):
    """Rows sorted by themselves."""
    return jnp.sort(x, -1)


@program(randint((16384,), 0, 64), symmetric((16384,), 1), symmetric((16384,), 1))
def sort_by_two_keys(first, second, payload):
    """Three operands sorted by two keys."""
    return lax.sort((first, second, payload), num_keys=2)


@program(randint((12288,), 0, 100), randint((12288,), 0, 100, "int8"), symmetric((12288,), 1),
         symmetric((12288,), 1))
def sorts(a, b, x, y):
    """Several sorts, each with operands and a comparator of its own."""
    falling = lax.sort((-x, y, a), num_keys=1)
    lexical = lax.sort((b, a, x, y), num_keys=3)
    return falling, lexical, lax.sort((a, x), num_keys=2, is_stable=False), jnp.lexsort((x, a))


@program(symmetric((16, 64, 64, 16), 1))
def pooling(x):
    """Largest and mean elements of windows."""
    size, step = (1, 2, 2, 1), (1, 2, 2, 1)
    most = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), step, "SAME")
    return most, lax.reduce_window(x, 0.0, lax.add, size, step, "VALID") / 4


@program(symmetric((16, 1000), 1), symmetric((8, 768), 1))
def few_rows(logits, states):
    """Softmax of 16 rows, and 8 rows less their mean by their deviation."""
    centred = states - jnp.mean(states, -1, keepdims=True)
    return jax.nn.softmax(logits), centred / jnp.std(states, -1, keepdims=True)


@program(symmetric((64, 2000), 1))
def sliding_means(rows):
    """Means of 25 neighbours, as differences of a running sum that begins with nothing."""
    sums = jnp.cumsum(jnp.pad(rows, ((0, 0), (1, 0))), 1)
    return (sums[:, 25:] - sums[:, :-25]) / 25
