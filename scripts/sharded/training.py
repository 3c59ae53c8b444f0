"""Layers and training steps whose arrays are divided, as their authors would say it."""

import jax
import jax.numpy as jnp
from jax import lax

from corpus.register import program
from models.spec import randint, symmetric, uniform
from sharded.mesh import constrain, divided


@program(symmetric((8, 16), 1), symmetric((16, 32), 0.25), symmetric((32, 16), 0.25), symmetric((8, 16), 1), donate=(1, 2),
         divided=(divided("data"), divided(None, "model"), divided("model"), divided("data")))
def mlp_step(x, up, down, target):
    """A training step: the batch over one axis, the hidden layer over the other."""
    def loss(up, down):
        hidden = constrain(jax.nn.gelu(x @ up), "data", "model")
        return jnp.mean((hidden @ down - target) ** 2)
    value, (du, dd) = jax.value_and_grad(loss, argnums=(0, 1))(up, down)
    return value, up - 0.5 * du, down - 0.5 * dd


@program(symmetric((4, 8, 16), 1), symmetric((16, 48), 0.25), symmetric((16, 16), 0.25), uniform((16,), 0.5, 1.5),
         divided=(divided("data"), divided(None, "model"), divided("model"), divided()))
def attention_layer(x, qkv, out, scale):
    """Causal attention with a norm and a residual: heads over one axis, batches over the other; gradients of all."""
    def f(x, qkv, out, scale):
        mean = jnp.mean(x, -1, keepdims=True)
        y = (x - mean) * lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-5) * scale
        q, k, v = (constrain(t.reshape(4, 8, 4, 4), "data", None, "model") for t in jnp.split(y @ qkv, 3, -1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 2
        scores = jnp.where(jnp.tril(jnp.ones((8, 8), bool)), scores, -1e9)
        y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(4, 8, 16) @ out
        return jnp.sum(jnp.sin(x + y))
    return jax.value_and_grad(f, argnums=(0, 1, 2, 3))(x, qkv, out, scale)


@program(symmetric((64, 8), 1), randint((8, 6), 0, 64), randint((8, 6), 0, 64),
         divided=(divided("model"), divided("data"), divided("data")))
def embedding_loss(table, words, next_words):
    """A table of words over one axis, read by batches over the other; the loss, and the gradient of the table."""
    def loss(table):
        x = table[words]
        logits = constrain(x @ table.T, "data", None, "model")
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), next_words[..., None], -1))
    return jax.value_and_grad(loss)(table)


@program(symmetric((4, 12, 12, 3), 1), symmetric((3, 3, 3, 8), 0.25), symmetric((3, 3, 8, 4), 0.25),
         divided=(divided("model", "data"), divided(), divided()))
def image_convolutions(x, first, second):
    """Convolutions over images that are cut into stripes: neighbours exchange rows; with their gradients."""
    def f(x, first, second):
        layout = ("NHWC", "HWIO", "NHWC")
        y = lax.conv_general_dilated(x, first, (1, 1), "SAME", dimension_numbers=layout)
        y = constrain(jax.nn.relu(y), "model", "data")
        y = lax.reduce_window(y, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")
        y = lax.conv_general_dilated(y, second, (2, 2), "SAME", dimension_numbers=layout)
        return jnp.sum(jnp.tanh(y))
    return jax.value_and_grad(f, argnums=(0, 1, 2))(x, first, second)


@program(symmetric((8, 16), 1), symmetric((6, 16, 16), 0.25), divided=(divided("data", "model"), divided(None, None, "model")))
def scanned_layers(x, weights):
    """Six layers in a loop, whose weights are divided; the gradient goes back through the loop."""
    def f(x, weights):
        def layer(x, w):
            return constrain(jnp.tanh(x @ w) + x, "data", "model"), jnp.mean(x)
        x, means = lax.scan(layer, x, weights)
        return jnp.sum(x * x), means
    (value, means), gradients = jax.value_and_grad(f, argnums=(0, 1), has_aux=True)(x, weights)
    return value, means, gradients


@program(symmetric((32, 12), 1), randint((32,), 0, 10), uniform((32,), 0.25, 1),
         divided=(divided(("data", "model")), divided(("data", "model")), divided(("data", "model"))))
def segments(x, ids, weights):
    """Sums, largest values and counts of groups of rows, over all eight devices."""
    sums = jax.ops.segment_sum(x * weights[:, None], ids, 10)
    most = jax.ops.segment_max(x, ids, 10)
    counts = jnp.bincount(ids, length=10)
    return constrain(sums, None, "model"), most, counts


@program(symmetric((24, 24), 1), symmetric((24,), 1), divided=(divided("data", "model"), divided("data")))
def conjugate_gradients(a, b):
    """A linear system by conjugate gradients, until it is near enough: a loop of unknown length."""
    a = a @ a.T + 8 * jnp.eye(24)
    def step(state):
        x, r, p, rr, n = state
        ap = a @ p
        alpha = rr / (p @ ap)
        x, r = x + alpha * p, r - alpha * ap
        new = r @ r
        return x, r, r + new / rr * p, new, n + 1
    x, r, p, rr, n = lax.while_loop(lambda s: (s[3] > 1e-3) & (s[4] < 40), step, (jnp.zeros(24), b, b, b @ b, 0))
    return x, n
