"""A pre-norm attention block in bf16; the softmax and the statistics of the norm are f32."""

import jax
import jax.numpy as jnp

from models import spec


def wide(x):
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


def layer_norm(x, scale, bias, epsilon=1e-6):
    y = wide(x)
    mean = jnp.mean(y, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(y - mean), axis=-1, keepdims=True)
    y = (y - mean) * jax.lax.rsqrt(variance + epsilon)
    return (y * wide(scale) + wide(bias)).astype(x.dtype)


def block(params, x, *, heads):
    size = x.shape[-1] // heads
    y = layer_norm(x, params["scale"], params["bias"])
    q, k, v = (jnp.einsum("bld,dhe->blhe", y, params[n].reshape(x.shape[-1], heads, size))
               for n in ("q", "k", "v"))
    scores = wide(jnp.einsum("bqhe,bkhe->bhqk", q, k)) * size**-0.5
    weights = jax.nn.softmax(scores, axis=-1).astype(x.dtype)
    mixed = jnp.einsum("bhqk,bkhe->bqhe", weights, v).reshape(x.shape)
    return x + mixed @ params["o"]


def model(batch, length, width, heads):
    def weight():
        return spec.symmetric((width, width), spec.fan_in(width), "bfloat16")

    params = {"scale": spec.uniform((width,), 0.75, 1.25, "bfloat16"),
              "bias": spec.symmetric((width,), 0.125, "bfloat16"),
              "q": weight(), "k": weight(), "v": weight(), "o": weight()}

    def attention_block(params, x):
        return block(params, x, heads=heads)

    return spec.Model(
        about=f"bf16 attention and layer norm block: batch {batch}, length {length}, width "
              f"{width}, {heads} heads",
        function=attention_block,
        arguments=(params, spec.symmetric((batch, length, width), 1.0, "bfloat16")))
