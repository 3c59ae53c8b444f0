"""The forward pass of GPT-2: token and position embeddings, blocks, tied output projection."""

import jax
import jax.numpy as jnp

from models import spec


def layer_norm(p, x, epsilon=1e-5):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + epsilon) * p["scale"] + p["bias"]


def linear(p, x):
    return x @ p["w"] + p["b"]


def attention(p, x, heads):
    batch, length, width = x.shape
    q, k, v = jnp.split(linear(p["qkv"], x), 3, axis=-1)

    def by_head(t):
        return t.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)

    scores = jnp.einsum("bhqd,bhkd->bhqk", by_head(q), by_head(k))
    scores = scores / jnp.sqrt(width // heads).astype(x.dtype)
    causal = jnp.tril(jnp.ones((length, length), dtype=bool))
    scores = jnp.where(causal, scores, jnp.finfo(scores.dtype).min)
    mixed = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), by_head(v))
    return linear(p["out"], mixed.transpose(0, 2, 1, 3).reshape(batch, length, width))


def block(p, x, heads):
    x = x + attention(p["attention"], layer_norm(p["norm1"], x), heads)
    hidden = jax.nn.gelu(linear(p["up"], layer_norm(p["norm2"], x)), approximate=True)
    return x + linear(p["down"], hidden)


def forward(params, tokens, *, heads):
    length = tokens.shape[1]
    x = params["wte"][tokens] + params["wpe"][:length]
    for p in params["blocks"]:
        x = block(p, x, heads)
    return layer_norm(params["norm"], x) @ params["wte"].T


def model(layers, width, heads, length, positions, vocabulary):
    def norm():
        return {"scale": spec.uniform((width,), 0.75, 1.25),
                "bias": spec.symmetric((width,), 0.125)}

    def dense(i, o):
        return {"w": spec.symmetric((i, o), spec.fan_in(i) / 2),
                "b": spec.symmetric((o,), 2.0**-6)}

    def one_block():
        return {"norm1": norm(), "norm2": norm(),
                "attention": {"qkv": dense(width, 3 * width), "out": dense(width, width)},
                "up": dense(width, 4 * width), "down": dense(4 * width, width)}

    params = {"wte": spec.symmetric((vocabulary, width), 2.0**-5),
              "wpe": spec.symmetric((positions, width), 2.0**-6),
              "blocks": [one_block() for _ in range(layers)], "norm": norm()}

    def gpt2(params, tokens):
        return forward(params, tokens, heads=heads)

    return spec.Model(
        about=f"GPT-2 forward: {layers} layers, width {width}, {heads} heads, sequence {length}, "
              f"vocabulary {vocabulary}; weights are parameters",
        function=gpt2,
        arguments=(params, spec.randint((1, length), 0, vocabulary)))
