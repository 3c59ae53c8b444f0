"""Products, factorisations, solvers."""

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jax import lax
from jax.experimental import sparse

from corpus.register import program
from models.spec import symmetric, uniform


def positive_definite(a):
    return a @ a.T + a.shape[0] * jnp.eye(a.shape[0], dtype=a.dtype)


@program(symmetric((5, 7), 1), symmetric((7, 4), 1), symmetric((7,), 1), symmetric((3, 5, 7), 1))
def products(a, b, v, c):
    """Matrix, vector, batched and outer products."""
    return a @ b, a @ v, v @ v, c @ b, jnp.outer(v, v), a.T @ a, jnp.vdot(a, a)


@program(symmetric((2, 3, 4, 5), 1), symmetric((2, 4, 5, 6), 1), symmetric((3, 5), 1))
def contractions(a, b, c):
    """Einstein sums with batch dimensions and several contractions."""
    return (jnp.einsum("bijk,bjkl->bil", a, b), jnp.einsum("bijk,ik->bj", a, c),
            jnp.einsum("bijk->bki", a), jnp.tensordot(a, b, ((2, 3), (1, 2))),
            jnp.einsum("ik,ik,bijk->b", c, c, a))


@program(symmetric((6, 6), 1), symmetric((6, 2), 1), platform="tpu")
def cholesky_solve(a, b):
    """A Cholesky factor and two triangular solves."""
    factor = jnp.linalg.cholesky(positive_definite(a))
    y = lax.linalg.triangular_solve(factor, b, left_side=True, lower=True)
    return factor, y, lax.linalg.triangular_solve(factor, y, left_side=True, lower=True,
                                                  transpose_a=True)


@program(symmetric((2, 5, 5), 0.5), symmetric((2, 3, 5), 1), platform="tpu")
def triangular_solves(a, b):
    """Batched triangular solves from the right, upper, and with a unit diagonal."""
    a = a + 2 * jnp.eye(5)
    return (lax.linalg.triangular_solve(a, b, lower=False),
            lax.linalg.triangular_solve(a, b, lower=True, unit_diagonal=True, transpose_a=True))


@program(symmetric((2, 6, 6), 1), symmetric((2, 6, 3), 1))
def factorisations(a, b):
    """LU, QR and Cholesky by LAPACK's custom calls, batched."""
    q, r = jnp.linalg.qr(b)
    return (jnp.linalg.solve(a + 3 * jnp.eye(6), b), jnp.linalg.det(a), q, r,
            jnp.linalg.cholesky(positive_definite(a[0])))


@program(symmetric((6, 6), 1), runs=False)
def lapack_calls(a):
    """Factorisations that JAX leaves to LAPACK: custom calls."""
    return jnp.linalg.qr(a), jnp.linalg.eigh(a), jnp.linalg.cholesky(a), jnp.linalg.svd(a)


@program(symmetric((2, 5, 4), 1), symmetric((3, 5, 5), 1))
def spectra(a, b):
    """Singular values, eigenvalues and Schur forms; vectors only where their sign does not count."""
    u, s, v = jnp.linalg.svd(a, full_matrices=False)
    w, vectors = jnp.linalg.eigh(b)
    values, right = jnp.linalg.eig(b)
    form, base = jsl.schur(b[0])
    return (s, jnp.abs(u), (u * s[:, None, :]) @ v, w, jnp.abs(vectors), values, jnp.abs(right),
            base @ form @ base.T)


@program(symmetric((3, 4, 4), 1), symmetric((5, 3), 1))
def spectral_gradients(a, b):
    """Gradients of singular values, eigenvalues and a pseudo-inverse, some of them batched."""
    def spread(m):
        return jnp.sum(jnp.linalg.svd(m, compute_uv=False)**3)

    def energy(m):
        w, v = jnp.linalg.eigh(m)
        return jnp.sum((v * jnp.exp(w)) @ v.T)
    return (jax.vmap(jax.grad(spread))(a), jax.vmap(jax.grad(energy))(a),
            jax.grad(lambda m: jnp.sum(jnp.abs(jnp.linalg.eigvals(m))))(a[0]),
            jax.grad(lambda m: jnp.sum(jnp.linalg.pinv(m)**2))(b))


@program(symmetric((4, 4), 0.5), symmetric((5, 3), 1))
def functions_of_matrices(a, b):
    """Exponential, square root, polar form, least squares, determinants."""
    return (jsl.expm(a), jsl.sqrtm(positive_definite(a)), *jsl.polar(b),
            jnp.linalg.lstsq(b, b[:, :1])[0], jnp.linalg.slogdet(a), jnp.linalg.cond(b))


@program(uniform((2, 6), 1, 2), symmetric((2, 6, 3), 1), symmetric((5, 4), 1))
def sparse_systems(d, b, x):
    """Tridiagonal systems and their gradients, and sparse matrices times dense ones."""
    def total(d, b):
        return jnp.sum(lax.linalg.tridiagonal_solve(0.2 * d, 3 * d, 0.5 * d, b)**2)
    rows = sparse.CSR((x[:, 0], jnp.array([2, 0, 4, 1, 1]), jnp.array([0, 2, 2, 3, 5])),
                      shape=(4, 5))
    return (lax.linalg.tridiagonal_solve(0.2 * d, 3 * d, 0.5 * d, b),
            jax.grad(total, argnums=(0, 1))(d, b), rows @ x, rows @ x[:, 1])


@program(symmetric((6, 6), 0.5), symmetric((6,), 1))
def conjugate_gradient(a, b):
    """A linear system solved in a loop that stops when the residual is small."""
    a = positive_definite(a)

    def step(state):
        x, r, p, n = state
        q = a @ p
        rate = (r @ r) / (p @ q)
        x, s = x + rate * p, r - rate * q
        return x, s, s + (s @ s) / (r @ r) * p, n + 1
    start = (jnp.zeros_like(b), b, b, 0)
    return lax.while_loop(lambda s: s[3] < 5, step, start)[0]


@program(uniform((8, 8), 0, 1))
def power_iteration(a):
    """The largest eigenvalue by repeated products."""
    def step(v, _):
        w = a @ v
        return w / jnp.linalg.norm(w), None
    v, _ = lax.scan(step, jnp.ones(8, a.dtype), None, length=12)
    return v @ a @ v, v


@program(symmetric((4, 4), 0.5))
def matrix_functions(a):
    """Powers, Kronecker product, trace, and the exponential by its series."""
    series = lax.fori_loop(1, 9, lambda i, s: (s[0] + s[1] @ a / i, s[1] @ a / i),
                           (jnp.eye(4, dtype=a.dtype), jnp.eye(4, dtype=a.dtype)))[0]
    return jnp.linalg.matrix_power(a, 5), jnp.kron(a[:2, :2], a[2:, 2:]), jnp.trace(a), series


@program(symmetric((5, 5), 1), symmetric((5,), 1))
def gauss_jordan(a, b):
    """Elimination without pivots, written with dynamic indices."""
    m = jnp.concatenate([a + 6 * jnp.eye(5), b[:, None]], axis=1)

    def eliminate(i, m):
        row = m[i] / m[i, i]
        return (m - jnp.outer(m[:, i], row)).at[i].set(row)
    return lax.fori_loop(0, 5, eliminate, m)[:, 5]


@program(symmetric((3, 4, 6), 1), symmetric((3, 6, 5), 1))
def dot_gradients(a, b):
    """The gradients of a batched product."""
    return jax.grad(lambda a, b: jnp.sum(jnp.tanh(a @ b)), argnums=(0, 1))(a, b)
