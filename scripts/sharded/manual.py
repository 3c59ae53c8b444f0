"""Programs that say for each device what it does: regions in which collectives are called by name."""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from corpus.register import program
from models.spec import randint, symmetric
from sharded.mesh import MESH, constrain, divided

by_device = functools.partial(jax.shard_map, mesh=MESH, check_vma=False)


@program(symmetric((16, 8), 1), divided=(divided("data", "model"),))
def collectives(x):
    """Sums, means and extremes over an axis or both; gathered, scattered, exchanged, shifted."""
    @functools.partial(by_device, in_specs=P("data", "model"),
                       out_specs=(P(None, "model"), P(), P("data", None), P("data", "model"), P("data", "model"), P("data", "model")))
    def f(x):
        total = lax.psum(x, "data")
        most = lax.pmax(lax.pmin(x, "model"), "data") - lax.pmean(x, ("data", "model"))
        rows = lax.all_gather(x, "model", axis=1, tiled=True)
        part = lax.psum_scatter(lax.all_gather(x, "data", tiled=True) * (lax.axis_index("data") + 1), "data", tiled=True)
        swapped = lax.all_to_all(x, "data", 0, 0, tiled=True)
        shifted = lax.ppermute(x, "data", [(i, (i + 1) % 4) for i in range(4)])
        return total, lax.pmean(most, ("data", "model")), rows, part, swapped, shifted
    return f(x)


@program(symmetric((2, 16, 4), 1), symmetric((2, 16, 4), 1), symmetric((2, 16, 4), 1),
         divided=(divided(None, "data"), divided(None, "data"), divided(None, "data")))
def ring_attention(q, k, v):
    """Attention over a sequence that is divided: keys and values go round in a ring, in a loop."""
    @functools.partial(by_device, in_specs=P(None, "data"), out_specs=P(None, "data"))
    def f(q, k, v):
        def step(i, state):
            k, v, most, below, above = state
            scores = jnp.einsum("bqd,bkd->bqk", q, k) / 2
            new = jnp.maximum(most, scores.max(-1, keepdims=True))
            p, scale = jnp.exp(scores - new), jnp.exp(most - new)
            below = below * scale + p.sum(-1, keepdims=True)
            above = above * scale + p @ v
            k, v = (lax.ppermute(t, "data", [(j, (j + 1) % 4) for j in range(4)]) for t in (k, v))
            return k, v, new, below, above
        start = (k, v, jnp.full(q.shape[:2] + (1,), -jnp.inf), jnp.zeros(q.shape[:2] + (1,)), jnp.zeros_like(q))
        _, _, _, below, above = lax.fori_loop(0, 4, step, start)
        return above / below
    return f(q, k, v)


@program(symmetric((32, 8), 1), symmetric((8, 8), 1), symmetric((8, 8, 16), 0.25), symmetric((8, 16, 8), 0.25),
         divided=(divided(("data", "model")), divided(), divided(("data", "model")), divided(("data", "model"))))
def experts(x, router, up, down):
    """Eight experts, one a device: rows travel to theirs and back; with the gradient of the weights."""
    everyone = ("data", "model")
    def f(x, router, up, down):
        choice = jax.nn.softmax(x @ router)
        def expert(x, choice, up, down):
            sent = jnp.einsum("te,td->etd", choice, x)
            got = lax.all_to_all(sent, everyone, 0, 0)
            done = jax.nn.relu(got @ up[0]) @ down[0]
            return lax.all_to_all(done, everyone, 0, 0).sum(0)
        y = by_device(expert, in_specs=P(everyone), out_specs=P(everyone))(x, choice, up, down)
        return jnp.sum(y * y)
    return jax.value_and_grad(f, argnums=(1, 2, 3))(x, router, up, down)


@program(symmetric((6, 2, 8), 1), symmetric((4, 8, 8), 0.25), divided=(divided(), divided("data")))
def pipeline(x, weights):
    """Four stages, one each on a row of devices: micro-batches go from stage to stage."""
    @functools.partial(by_device, in_specs=(P(), P("data")), out_specs=P("data"))
    def f(x, w):
        stage = lax.axis_index("data")
        def step(i, state):
            carry, out = state
            mine = jnp.where(stage == 0, x[jnp.minimum(i, 5)], carry)
            done = jnp.tanh(mine @ w[0])
            out = jnp.where((stage == 3) & (i >= 3), out.at[jnp.maximum(i - 3, 0)].set(done), out)
            return lax.ppermute(done, "data", [(j, j + 1) for j in range(3)]), out
        _, out = lax.fori_loop(0, 9, step, (jnp.zeros((2, 8)), jnp.zeros((6, 2, 8))))
        return out[None]
    return f(x, weights)[3]


@program(symmetric((8, 16), 1), symmetric((16, 8), 0.5), randint((8,), 0, 8), divided=(divided("data", "model"), divided("model"), divided("data")))
def partly_manual(x, w, shift):
    """One axis of the mesh by hand, the other left to the compiler."""
    @functools.partial(by_device, in_specs=(P("data"), P(), P("data")), out_specs=P("data"), axis_names={"data"})
    def f(x, w, shift):
        y = jnp.sin(x @ w)
        y = y + lax.ppermute(y, "data", [(i, i ^ 1) for i in range(4)])
        return y * lax.psum(jnp.sum(shift), "data")
    return constrain(f(x, w, shift), "data", "model")
