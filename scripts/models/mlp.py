"""A training step of a three-layer perceptron: loss, gradients, Adam."""

import jax
import jax.numpy as jnp

from models import spec


def forward(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def cross_entropy(params, images, labels):
    log_probs = jax.nn.log_softmax(forward(params, images))
    picked = jnp.take_along_axis(log_probs, labels[:, None], axis=1)
    return -jnp.mean(picked)


def adam(param, grad, m, v, step, rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * jnp.square(grad)
    m_hat = m / (1 - beta1**step)
    v_hat = v / (1 - beta2**step)
    return param - rate * m_hat / (jnp.sqrt(v_hat) + epsilon), m, v


def train_step(params, m, v, step, images, labels):
    loss, grads = jax.value_and_grad(cross_entropy)(params, images, labels)
    step = step + 1
    when = step.astype(images.dtype)
    moved = jax.tree.map(lambda p, g, a, b: adam(p, g, a, b, when), params, grads, m, v)
    outer, inner = jax.tree.structure(params), jax.tree.structure((0, 0, 0))
    params, m, v = jax.tree.transpose(outer, inner, moved)
    return params, m, v, step, loss


def model(sizes, batch):
    pairs = list(zip(sizes[:-1], sizes[1:]))

    def tree(make_w, make_b):
        return [(make_w(i, o), make_b(o)) for i, o in pairs]

    params = tree(lambda i, o: spec.symmetric((i, o), spec.fan_in(i)),
                  lambda o: spec.symmetric((o,), 0.0625))
    m = tree(lambda i, o: spec.symmetric((i, o), 2.0**-8), lambda o: spec.symmetric((o,), 2.0**-8))
    # Second moments stay away from zero: there Adam's step is a sign, and any error is large.
    v = tree(lambda i, o: spec.uniform((i, o), 2.0**-12, 2.0**-10),
             lambda o: spec.uniform((o,), 2.0**-12, 2.0**-10))
    return spec.Model(
        about=f"MLP {'-'.join(map(str, sizes))}, batch {batch}: loss, gradients, one Adam step",
        function=train_step,
        arguments=(params, m, v, spec.const((), 9, "int32"),
                   spec.uniform((batch, sizes[0]), 0.0, 1.0),
                   spec.randint((batch,), 0, sizes[-1])),
        donate=(0, 1, 2, 3))
