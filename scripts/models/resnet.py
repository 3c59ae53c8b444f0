"""The forward pass of ResNet-18 with batch norm in inference mode, channels last."""

import jax
import jax.numpy as jnp
from jax import lax

from models import spec


def conv(w, x, stride):
    return lax.conv_general_dilated(x, w, (stride, stride), padding="SAME",
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def batch_norm(p, x, epsilon=1e-5):
    return (x - p["mean"]) * lax.rsqrt(p["variance"] + epsilon) * p["scale"] + p["bias"]


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def residual_block(p, x, stride):
    y = jax.nn.relu(batch_norm(p["norm1"], conv(p["conv1"], x, stride)))
    y = batch_norm(p["norm2"], conv(p["conv2"], y, 1))
    if "shortcut" in p:
        x = batch_norm(p["shortcut_norm"], conv(p["shortcut"], x, stride))
    return jax.nn.relu(x + y)


def forward(params, images):
    x = jax.nn.relu(batch_norm(params["stem_norm"], conv(params["stem"], images, 2)))
    x = max_pool(x)
    for stage, blocks in enumerate(params["stages"]):
        for i, p in enumerate(blocks):
            x = residual_block(p, x, 2 if stage > 0 and i == 0 else 1)
    features = jnp.mean(x, axis=(1, 2))
    return features @ params["head"]["w"] + params["head"]["b"]


def model(image, widths, classes):
    def weights(size, i, o):
        return spec.symmetric((size, size, i, o), spec.fan_in(size * size * i))

    def norm(c):
        return {"scale": spec.uniform((c,), 0.5, 1.0), "bias": spec.symmetric((c,), 0.125),
                "mean": spec.symmetric((c,), 0.125), "variance": spec.uniform((c,), 0.5, 1.5)}

    def block(i, o):
        p = {"conv1": weights(3, i, o), "norm1": norm(o), "conv2": weights(3, o, o),
             "norm2": norm(o)}
        if i != o:
            p["shortcut"], p["shortcut_norm"] = weights(1, i, o), norm(o)
        return p

    inputs = [widths[0], *widths[:-1]]
    params = {"stem": weights(7, 3, widths[0]), "stem_norm": norm(widths[0]),
              "stages": [[block(i, o), block(o, o)] for i, o in zip(inputs, widths)],
              "head": {"w": spec.symmetric((widths[-1], classes), spec.fan_in(widths[-1])),
                       "b": spec.symmetric((classes,), 0.0625)}}
    return spec.Model(
        about=f"ResNet-18 forward with batch norm, 1x{image}x{image}x3, channels "
              f"{'-'.join(map(str, widths))}, {classes} classes",
        function=forward,
        arguments=(params, spec.symmetric((1, image, image, 3), 1.0)))
