"""Loops: small state over many steps, large state touched in place, bodies that are programs."""

import jax
import jax.numpy as jnp
from jax import lax

from corpus.register import program
from models.spec import randint, symmetric, uniform


@program(uniform((2,), 0.5, 1))
def ode_loop(start):
    """20,000 Runge-Kutta steps of a damped pendulum."""
    def slope(y):
        return jnp.stack([y[1], -jnp.sin(y[0]) - 0.25 * y[1]])

    def step(_, y):
        h = jnp.float32(2.0**-8)
        a = slope(y)
        b = slope(y + h / 2 * a)
        c = slope(y + h / 2 * b)
        d = slope(y + h * c)
        return y + h / 6 * (a + 2 * b + 2 * c + d)
    return lax.fori_loop(0, 20000, step, start)


@program(symmetric((2000, 8), 1), symmetric((8, 8), 0.25), symmetric((8,), 1))
def scan_small_steps(inputs, weights, state):
    """A recurrence of 2,000 small steps that keeps every state."""
    def step(state, x):
        state = jnp.tanh(state @ weights + x)
        return state, state
    return lax.scan(step, state, inputs)


@program(symmetric((100, 16, 64), 1), symmetric((64, 192), 0.125), symmetric((64, 192), 0.125))
def scan_gru(inputs, kernel, recurrent):
    """A GRU over 100 steps of a batch of 16."""
    def step(state, x):
        r, z, n = jnp.split(x @ kernel, 3, -1)
        hr, hz, hn = jnp.split(state @ recurrent, 3, -1)
        z = jax.nn.sigmoid(z + hz)
        state = z * state + (1 - z) * jnp.tanh(n + jax.nn.sigmoid(r + hr) * hn)
        return state, state
    return lax.scan(step, jnp.zeros((16, 64), jnp.float32), inputs)


@program(symmetric((1024, 1024), 1), randint((500,), 0, 1024))
def update_in_place(buffer, places):
    """500 rows of a buffer of 4 MB read, changed and written back one after another."""
    def step(i, buffer):
        row = lax.dynamic_slice(buffer, (places[i], 0), (1, 1024))
        return lax.dynamic_update_slice(buffer, row * 0.5 + 1, (places[i], 0))
    return lax.fori_loop(0, 500, step, buffer)


@program(symmetric((256, 256), 1))
def jacobi(grid):
    """100 sweeps of a five-point stencil."""
    def sweep(_, u):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return u.at[1:-1, 1:-1].set(0.25 * around)
    return lax.fori_loop(0, 100, sweep, grid)


@program(uniform((64,), 1, 64))
def newton_until(values):
    """Square roots by Newton's method until no element moves."""
    def moving(state):
        return jnp.max(jnp.abs(state[0] - state[1])) > 2.0**-18

    def step(state):
        return 0.5 * (state[0] + values / state[0]), state[0]
    return lax.while_loop(moving, step, (values, jnp.zeros_like(values)))[0]


@program(symmetric((500, 64), 1), symmetric((64, 64), 0.125), symmetric((64,), 1))
def scan_matvec(inputs, weights, state):
    """500 steps of a matrix times a vector, and a bounded sum."""
    def step(state, x):
        state = jnp.tanh(weights @ state + x)
        return state, jnp.sum(state)
    return lax.scan(step, state, inputs)


@program(symmetric((200, 8, 64), 1), symmetric((64, 64), 0.125), symmetric((64, 64), 0.125))
def scan_rnn(inputs, kernel, recurrent):
    """A recurrent layer over 200 steps of a batch of 8."""
    def step(state, x):
        state = jnp.tanh(x @ kernel + state @ recurrent)
        return state, state
    return lax.scan(step, jnp.zeros((8, 64), jnp.float32), inputs)


@program(symmetric((1000, 16), 1), randint((200, 64), 0, 1000), symmetric((64, 16), 1))
def scatter_add_steps(table, places, updates):
    """200 steps that each add 64 rows to a table at given places."""
    def step(table, at):
        return table.at[at].add(updates), None
    return lax.scan(step, table, places)[0]


@program(symmetric((256, 3), 1))
def n_body(places):
    """20 steps of 256 bodies that attract each other."""
    def step(state, _):
        places, speeds = state
        away = places[None] - places[:, None]
        distances = jnp.sum(away * away, -1) + 0.1
        speeds = speeds + 0.001 * jnp.sum(away / distances[..., None] ** 1.5, 1)
        return (places + 0.001 * speeds, speeds), None
    return lax.scan(step, (places, jnp.zeros_like(places)), None, length=20)[0]


@program(uniform((256, 256), 0, 1), uniform((256, 256), 0, 1))
def reaction_diffusion(u, v):
    """20 steps of two substances that react and spread, around the ends."""
    def spread(a):
        return (jnp.roll(a, 1, 0) + jnp.roll(a, -1, 0) + jnp.roll(a, 1, 1) + jnp.roll(a, -1, 1)) - 4 * a

    def step(_, state):
        u, v = state
        r = u * v * v
        return u + 0.16 * spread(u) - r + 0.06 * (1 - u), v + 0.08 * spread(v) + r - 0.1 * v
    return lax.fori_loop(0, 20, step, (u, v))


@program(symmetric((100, 41), 1))
def label_paths(steps):
    """Log-sums over paths through 41 states, as in a CTC loss: rows that fill no whole vectors."""
    def step(state, here):
        before = jnp.concatenate([jnp.full(1, -1e30), state[:-1]])
        return jnp.logaddexp(state, before) + here, None
    return lax.scan(step, jnp.full(41, -1e30).at[0].set(0.0), steps)[0]
