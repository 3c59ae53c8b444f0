"""The devices of the programs, and how their arrays are divided among them."""

import jax
from jax.sharding import NamedSharding, PartitionSpec

MESH = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)


def divided(*axes):
    """An axis of the mesh (or several, or none) for each dimension."""
    return NamedSharding(MESH, PartitionSpec(*axes))


def constrain(x, *axes):
    return jax.lax.with_sharding_constraint(x, divided(*axes))
