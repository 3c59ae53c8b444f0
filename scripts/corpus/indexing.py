"""Moving data: slices, gathers, scatters, reshapes, padding, sorting."""

import jax
import jax.numpy as jnp
from jax import lax

from corpus.register import program
from models.spec import iota, randint, symmetric, values


@program(symmetric((6, 7, 3), 1), exact=True)
def slices(x):
    """Slices with strides, negative steps and new axes."""
    return x[1:5:2], x[:, ::-1], x[..., 0], x[None, 2:4, 1:], x[-1], x[::-2, 5:1:-2]


@program(symmetric((3, 4, 5), 1), exact=True)
def reshapes(x):
    """Reshape, transpose, squeeze, swapaxes, ravel."""
    return (x.reshape(12, 5), x.transpose(2, 0, 1), jnp.swapaxes(x, 0, 1).ravel(), x.T,
            x[:1].squeeze(0), jnp.moveaxis(x, 0, -1).reshape(2, 30))


@program(symmetric((3, 4), 1), symmetric((2, 4), 1), exact=True)
def joining(x, y):
    """Concatenate, stack, tile, repeat, roll, flip."""
    return (jnp.concatenate([x, y]), jnp.stack([x[:2], y], axis=1), jnp.tile(x, (2, 3)),
            jnp.repeat(x, 2, axis=1), jnp.roll(x, 1, axis=0), jnp.roll(x, (-1, 2), axis=(0, 1)),
            jnp.flip(y), jnp.hstack([x[:2], y]))


@program(symmetric((4, 5), 1), exact=True)
def padding(x):
    """Edge, interior and negative padding, and the modes of numpy."""
    return (lax.pad(x, 0.0, ((1, 2, 1), (0, 3, 2))), lax.pad(x, 1.0, ((-1, 1, 0), (2, -2, 0))),
            jnp.pad(x, 2, mode="edge"), jnp.pad(x, ((0, 1), (2, 0)), mode="reflect"),
            jnp.pad(x, 1, mode="wrap"))


@program(symmetric((10, 4), 1), randint((6,), -10, 10), randint((3, 2), 0, 10), exact=True)
def gather_rows(table, ids, pairs):
    """Rows by index, with negative indices and a batch of pairs."""
    return table[ids], table[pairs], table[ids, 1], jnp.take(table, pairs[:, 0] % 4, axis=1)


@program(symmetric((5, 6, 3), 1), randint((4,), 0, 5), randint((4,), 0, 6),
         randint((5, 2, 3), 0, 6), exact=True)
def gather_points(x, i, j, k):
    """Points by several index arrays, and along an axis."""
    return x[i, j], x[i, :, 1], x[2, j], jnp.take_along_axis(x, k, axis=1), x[:, j][:, :2]


@program(symmetric((8,), 1), values((6,), [0, 7, 8, -1, 20, -9], "int32"), exact=True)
def gather_modes(x, i):
    """Indices out of bounds: filled, clipped, wrapped."""
    return (x.at[i].get(mode="fill", fill_value=-5.0), x.at[i].get(mode="clip"),
            jnp.take(x, i, mode="wrap"))


@program(symmetric((9, 3), 1), randint((5,), 0, 9), symmetric((5, 3), 1))
def scatter_updates(x, i, y):
    """Add, multiply, largest and smallest at repeated rows."""
    return x.at[i].add(y), x.at[i].multiply(y), x.at[i].max(y), x.at[i].min(y), x.at[i, 1].add(1.0)


@program(symmetric((6, 5), 1), values((3,), [4, 0, 2], "int32"), symmetric((3, 5), 1), exact=True)
def scatter_set(x, i, y):
    """Overwriting rows, columns, slices and single elements."""
    return (x.at[i].set(y), x.at[:, i].set(0.0), x.at[1:3].set(2.0), x.at[i, i].set(-1.0),
            x.at[jnp.array([1, 77])].set(9.0, mode="drop"))


@program(symmetric((8, 6), 1), randint((), 0, 12), randint((), -3, 6), symmetric((2, 3), 1),
         exact=True)
def dynamic_slices(x, i, j, y):
    """Slices at computed places, clamped to the array."""
    return (lax.dynamic_slice(x, (i, j), (3, 2)), lax.dynamic_update_slice(x, y, (i, j)),
            lax.dynamic_index_in_dim(x, i, axis=0, keepdims=False),
            jax.vmap(lambda s: lax.dynamic_slice(x, (s, 0), (2, 6)))(jnp.arange(4)))


@program(randint((7,), 0, 5), symmetric((4, 4), 1), iota((3,)), exact=True)
def matrices_of_indices(labels, x, n):
    """One-hot, triangles, diagonals, grids."""
    return (jax.nn.one_hot(labels, 5), jnp.tril(x), jnp.triu(x, 1), jnp.diag(x), jnp.diag(n),
            jnp.stack(jnp.meshgrid(n, jnp.arange(2))), jnp.eye(3, 5, 1), jnp.linspace(0, 1, 5))


@program(symmetric((4, 13), 1), exact=True)
def sorts(x):
    """Sort and argsort along both axes, up and down."""
    return (jnp.sort(x), jnp.sort(x, axis=0), jnp.argsort(x), jnp.sort(x, descending=True),
            jnp.argsort(x, axis=0, descending=True))


@program(randint((20,), 0, 4), randint((20,), 0, 3), symmetric((20,), 1), exact=True)
def sort_by_two_keys(a, b, x):
    """A stable sort with two keys and a payload; lexsort."""
    return *lax.sort((a, b, x), num_keys=2), jnp.lexsort((a, b)), lax.sort((b, x), num_keys=1)[1]


@program(values((8,), [1.0, float("nan"), -0.0, 0.0, float("-inf"), float("inf"), -1.0, 0.5]),
         exact=True)
def sort_special_values(x):
    """Where NaN, infinities and both zeros go."""
    return jnp.sort(x), jnp.argsort(x)


@program(symmetric((3, 17), 1), exact=True)
def top_k(x):
    """The largest few and their places."""
    return lax.top_k(x, 4)


@program(randint((24,), 0, 9), iota((9,)), exact=True)
def unique_and_search(x, grid):
    """Unique values with a fixed size, binary search, set membership."""
    u, counts = jnp.unique(x, return_counts=True, size=9, fill_value=-1)
    return u, counts, jnp.searchsorted(grid * 2, x), jnp.isin(x, jnp.array([1, 4]))
