"""Small whole programs: learning, simulation, search."""

import jax
import jax.numpy as jnp
from jax import lax

from corpus.register import program
from models.spec import const, randint, symmetric, uniform


@program(symmetric((8, 5), 1), randint((8,), 0, 5))
def cross_entropy_gradient(logits, labels):
    """Loss and gradient of a classifier's last layer."""
    def loss(logits):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1))
    return jax.value_and_grad(loss)(logits)


@program(symmetric((6, 10), 1), uniform((10,), 0.5, 1.5), symmetric((10,), 0.5))
def layer_norm_gradient(x, scale, bias):
    """Layer norm and the gradients of all its arguments."""
    def f(x, scale, bias):
        mean = jnp.mean(x, -1, keepdims=True)
        y = (x - mean) * lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-5)
        return jnp.sum(jnp.sin(y * scale + bias))
    return jax.value_and_grad(f, argnums=(0, 1, 2))(x, scale, bias)


@program(symmetric((4, 6, 6, 3), 1), uniform((3,), 0.5, 1.5), symmetric((3,), 0.5))
def batch_norm_training(x, scale, bias):
    """Batch norm with the statistics of the batch, and its gradients."""
    def f(x, scale, bias):
        mean, var = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
        y = (x - mean) * lax.rsqrt(var + 1e-5) * scale + bias
        return jnp.sum(y**3), (mean, var)
    return jax.value_and_grad(f, argnums=(0, 1, 2), has_aux=True)(x, scale, bias)


@program(symmetric((1, 8, 12), 1), symmetric((12, 36), 0.25), symmetric((12, 12), 0.25))
def causal_attention(x, qkv, out):
    """Self-attention with a causal mask, and the gradient of its input."""
    def f(x):
        q, k, v = (t.reshape(1, 8, 3, 4) for t in jnp.split(x @ qkv, 3, -1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 2
        scores = jnp.where(jnp.tril(jnp.ones((8, 8), bool)), scores, -1e9)
        y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
        return jnp.sum(jnp.tanh(y.reshape(1, 8, 12) @ out))
    return jax.value_and_grad(f)(x)


@program(symmetric((6,), 1))
def hessian(x):
    """Second derivatives of a small function."""
    f = lambda x: jnp.sum(jnp.sin(x) * jnp.roll(x, 1) ** 2)  # noqa: E731
    return jax.hessian(f)(x), jax.jacfwd(jax.grad(f))(x)[0]


@program(symmetric((8, 3), 1), symmetric((8, 3), 0.25), uniform((8,), 0.5, 1))
def n_bodies(position, velocity, mass):
    """Three leapfrog steps of gravity."""
    def acceleration(p):
        d = p[None] - p[:, None]
        r = lax.rsqrt(jnp.sum(d**2, -1) + 0.125)
        return jnp.einsum("ijk,ij,j->ik", d, r**3, mass)

    def step(_, s):
        p, v = s
        v = v + 0.015625 * acceleration(p)
        return p + 0.015625 * v, v
    return lax.fori_loop(0, 3, step, (position, velocity))


@program(randint((9, 9), 0, 2), exact=True)
def game_of_life(board):
    """Five generations on a torus."""
    def step(board, _):
        around = sum(jnp.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1))
        around = around - board
        board = jnp.where((around == 3) | ((around == 2) & (board == 1)), 1, 0)
        return board, jnp.sum(board)
    return lax.scan(step, board, None, length=5)


@program(uniform((6, 7), -2, 0.5), symmetric((6, 7), 1), exact=False)
def mandelbrot(re, im):
    """Points that stay small under twelve squarings in the complex plane."""
    c = lax.complex(re, im) * 0.25
    return lax.fori_loop(0, 12, lambda _, z: z * z + c, jnp.zeros_like(c))


@program(uniform((10, 12), 0, 1))
def heat_equation(u):
    """Ten steps of diffusion with fixed borders."""
    def step(_, u):
        inner = u[1:-1, 1:-1]
        change = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner
        return u.at[1:-1, 1:-1].add(0.125 * change)
    return lax.fori_loop(0, 10, step, u)


@program(symmetric((9, 4), 2), symmetric((4, 4), 1), symmetric((4,), 1))
def viterbi(emissions, transitions, start):
    """The best path through a hidden Markov model: scan forwards, then backwards."""
    def forward(score, emission):
        paths = score[:, None] + transitions
        return jnp.max(paths, 0) + emission, jnp.argmax(paths, 0)
    score, back = lax.scan(forward, start + emissions[0], emissions[1:])
    last = jnp.argmax(score)
    _, path = lax.scan(lambda s, b: (b[s], s), last, back, reverse=True)
    return jnp.max(score), path


@program(randint((8,), 0, 4), randint((10,), 0, 4), exact=True)
def edit_distance(a, b):
    """Dynamic programming over two strings, row by row."""
    def row(previous, x):
        i, letter = x
        cost = jnp.minimum(previous[1:] + 1, previous[:-1] + (b != letter))

        def cell(left, c):
            value = jnp.minimum(left + 1, c)
            return value, value
        _, rest = lax.scan(cell, i, cost)
        return jnp.concatenate([i[None], rest]), None
    table, _ = lax.scan(row, jnp.arange(11), (jnp.arange(1, 9), a))
    return table[-1]


@program(symmetric((3, 3), 0.25), symmetric((2, 3), 1), symmetric((12, 2), 1))
def kalman_filter(a, h, measurements):
    """A Kalman filter with an explicit inverse of its 2x2 innovation."""
    def step(state, z):
        x, p = a @ state[0], a @ state[1] @ a.T + 0.125 * jnp.eye(3)
        s = h @ p @ h.T + 0.5 * jnp.eye(2)
        det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        inverse = jnp.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]]) / det
        gain = p @ h.T @ inverse
        x = x + gain @ (z - h @ x)
        return (x, p - gain @ h @ p), x
    return lax.scan(step, (jnp.zeros(3), jnp.eye(3)), measurements)


@program(uniform((6, 6), 0, 1))
def sinkhorn(cost):
    """Optimal transport by alternating normalisation."""
    k = jnp.exp(-4 * cost)

    def step(_, s):
        u, v = s
        u = 1 / (k @ v)
        return u, 1 / (k.T @ u)
    u, v = lax.fori_loop(0, 15, step, (jnp.ones(6), jnp.ones(6)))
    return u[:, None] * k * v


@program({"w": symmetric((8, 6), 0.5), "b": symmetric((6,), 0.25)},
         {"w": symmetric((8, 6), 0.125), "b": symmetric((6,), 0.125)}, symmetric((5, 8), 1),
         symmetric((5, 6), 1), donate=(0, 1))
def momentum_step(params, velocity, x, y):
    """One step of gradient descent with momentum that may overwrite its arguments."""
    grads = jax.grad(lambda p: jnp.mean((jnp.tanh(x @ p["w"] + p["b"]) - y) ** 2))(params)
    velocity = jax.tree.map(lambda v, g: 0.875 * v + g, velocity, grads)
    return jax.tree.map(lambda p, v: p - 0.125 * v, params, velocity), velocity


@program(symmetric((5, 8), 1), symmetric((8, 8), 0.25), symmetric((8, 8), 0.25),
         symmetric((8,), 0.5))
def gru(xs, w, u, h):
    """A gated recurrent unit over five steps, and its gradient by one weight."""
    def run(u):
        def step(h, x):
            z = jax.nn.sigmoid(x @ w + h @ u)
            h = (1 - z) * h + z * jnp.tanh(x + (z * h) @ u)
            return h, h
        return jnp.sum(lax.scan(step, h, xs)[1] ** 2)
    return jax.value_and_grad(run)(u)


@program(randint((12,), 0, 12), const((), 3, "int32"), exact=True)
def graph_reach(parent, start):
    """Nodes on the way from a start along parents, until nothing is new."""
    def step(s):
        node, seen = s
        return parent[node], seen.at[node].set(True)
    return lax.while_loop(lambda s: ~s[1][s[0]], step, (start, jnp.zeros(12, bool)))


@program(uniform((7, 7), 0, 1), exact=False)
def shortest_paths(weights):
    """All pairs of shortest paths, by Floyd and Warshall."""
    def relax(k, d):
        return jnp.minimum(d, d[:, k][:, None] + d[k][None])
    return lax.fori_loop(0, 7, relax, weights.at[jnp.diag_indices(7)].set(0))
