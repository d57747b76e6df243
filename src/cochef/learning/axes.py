"""The order of axes in learning, and every conversion between orders.

    time, members, roles (or seats), kitchens, then the axes of an entry (observation, carry, ...)

The words are explained in `cochef.learning`. Three other orders are needed, and only this module
converts to them:

- stepping: the kitchens of all members together are the last axis, see `kitchen.stepping`;
- by learner: `[members, learners, rows]` is `[members, roles, kitchens]` reshaped: the rows of a
  learner are the kitchens of all its roles. An update has the learners of all members first and
  time in chunks: `[learners, chunks, chunk, rows]`;
- by partner: `[partners, rows]`, where kitchen e has partner e modulo the number of partners.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped

from cochef.kitchen.constants import SEATS

Tree = Any  # of arrays
AnyArray = Array | np.ndarray  # also of the host


def to_stepping(tree: Tree) -> Tree:
    """From [members, ..., kitchens] to [..., members * kitchens]."""

    def join(leaf: Array) -> Array:
        return jnp.moveaxis(leaf, 0, -2).reshape(*leaf.shape[1:-1], -1)

    return jax.tree.map(join, tree)


def from_stepping(tree: Tree, members: int) -> Tree:
    """From [..., members * kitchens] to [members, ..., kitchens]."""

    def split(leaf: Array) -> Array:
        return jnp.moveaxis(leaf.reshape(*leaf.shape[:-1], members, -1), -2, 0)

    return jax.tree.map(split, tree)


def kitchens_to_stepping(tree: Tree) -> Tree:
    """From [members, kitchens, ...] to [..., members * kitchens]."""

    def join(leaf: Array) -> Array:
        return jnp.moveaxis(_merge_first_two(leaf), 0, -1)

    return jax.tree.map(join, tree)


def stepping_to_kitchens(tree: Tree, members: int) -> Tree:
    """From [..., members * kitchens] to [members, kitchens, ...]."""

    def split(leaf: Array) -> Array:
        *rest, kitchens = leaf.shape
        return jnp.moveaxis(leaf, -1, 0).reshape(members, kitchens // members, *rest)

    return jax.tree.map(split, tree)


def seats_by_member(
    leaf: Shaped[Array, "2 *rest all_kitchens"], members: int
) -> Shaped[Array, "members 2 kitchens *rest"]:
    """From both seats in the order of stepping to members first."""
    leaf = leaf.reshape(*leaf.shape[:-1], members, -1)
    return jnp.moveaxis(leaf, (-2, 0, -1), (0, 1, 2))


def joint_actions(actions: Int[Array, "members 2 kitchens"]) -> Int[Array, "2 all_kitchens"]:
    """Both seats' actions in the order of stepping."""
    return jnp.moveaxis(actions, 1, 0).reshape(SEATS, -1)


def exchange_seats_and_roles(
    leaf: Shaped[Array, "members 2 kitchens *rest"], seat: Int[Array, "members kitchens"]
) -> Shaped[Array, "members 2 kitchens *rest"]:
    """From seats to roles, or back: the same exchange; `seat` is that of role 0."""
    members, kitchens = seat.shape
    swapped = seat.reshape(members, 1, kitchens, *(1,) * (leaf.ndim - 3)) == 1
    return jnp.where(swapped, leaf[:, ::-1], leaf)


def roles_to_rows(
    leaf: Shaped[Array, "members roles kitchens *rest"], learners: int
) -> Shaped[Array, "members learners rows *rest"]:
    """From roles to the rows of each learner."""
    members, roles, kitchens, *rest = leaf.shape
    return leaf.reshape(members, learners, roles // learners * kitchens, *rest)


def rows_to_roles(
    leaf: Shaped[Array, "members learners rows *rest"], roles: int
) -> Shaped[Array, "members roles kitchens *rest"]:
    """From the rows of each learner back to roles."""
    members, learners, rows, *rest = leaf.shape
    return leaf.reshape(members, roles, learners * rows // roles, *rest)


def over_roles(
    leaf: Shaped[Array, "time members kitchens *rest"], roles: int
) -> Shaped[Array, "time members roles kitchens *rest"]:
    """Repeat what a kitchen has for all its roles."""
    time, members, kitchens, *rest = leaf.shape
    return jnp.broadcast_to(leaf[:, :, None], (time, members, roles, kitchens, *rest))


def by_learner(
    leaf: Shaped[Array, "time members roles kitchens *rest"], learners: int
) -> Shaped[Array, "all_learners time rows *rest"]:
    """From the order of a rollout to that of an update."""
    time, members, roles, kitchens, *rest = leaf.shape
    rows = leaf.reshape(time, members * learners, roles // learners * kitchens, *rest)
    return jnp.moveaxis(rows, 1, 0)


def add_member_axis(tree: Tree) -> Tree:
    """What one member has, as [members, ...] with one member."""
    return jax.tree.map(lambda leaf: leaf[None], tree)


def drop_member_axis(tree: Tree) -> Tree:
    """From [members, ...] with one member to what it has."""
    return jax.tree.map(lambda leaf: leaf[0], tree)


def merge_learners(tree: Tree) -> Tree:
    """From [members, learners, ...] to the learners of all members."""
    return jax.tree.map(_merge_first_two, tree)


def split_learners(tree: Tree, learners: int) -> Tree:
    """From the learners of all members to [members, learners, ...]."""

    def split(leaf: AnyArray) -> AnyArray:
        return leaf.reshape(leaf.shape[0] // learners, learners, *leaf.shape[1:])

    return jax.tree.map(split, tree)


def chunk_time(
    leaf: Shaped[Array, "learners time all_rows *rest"], chunk: int, row_blocks: int = 1
) -> Shaped[Array, "learners chunks chunk rows *rest"]:
    """Cut time into chunks, which stay together when an update shuffles.

    With blocks of rows each chunk is cut into those, too. A block takes rows at equal distances,
    not neighbours. Where kitchens have the partners of a pool in turn, a block of every second
    kitchen has every second partner, if their number is even.
    """
    learners, time, rows, *rest = leaf.shape
    chunks = time // chunk
    leaf = leaf.reshape(learners, chunks, chunk, rows // row_blocks, row_blocks, *rest)
    leaf = jnp.moveaxis(leaf, 4, 2)
    return leaf.reshape(learners, chunks * row_blocks, chunk, rows // row_blocks, *rest)


def chunks_to_rows(
    leaf: Shaped[Array, "chunks chunk rows *rest"],
) -> Shaped[Array, "chunk all_rows *rest"]:
    """The chunks of a learner as rows of their own, time first."""
    leaf = jnp.moveaxis(leaf, 1, 0)
    return leaf.reshape(leaf.shape[0], leaf.shape[1] * leaf.shape[2], *leaf.shape[3:])


def carries_to_rows(
    leaf: Shaped[Array, "chunks rows carry"],
) -> Shaped[Array, "all_rows carry"]:
    """The carries before each chunk, in the order of `chunks_to_rows`."""
    return _merge_first_two(leaf)


def members_first(
    leaf: Shaped[Array, "time members *rest"],
) -> Shaped[Array, "members time *rest"]:
    """From the order of a rollout, time first, to members first."""
    return jnp.moveaxis(leaf, 0, 1)


def cut_epochs(
    leaf: Shaped[Array, "epochs chunks"], minibatches: int
) -> Shaped[Array, "gradient_steps part"]:
    """The order of chunks in each epoch, cut into minibatches: one for each gradient step."""
    epochs, chunks = leaf.shape
    return leaf.reshape(epochs * minibatches, chunks // minibatches)


def flatten_steps(
    leaf: Shaped[Array, "time members roles kitchens *rest"],
) -> Shaped[Array, "steps *rest"]:
    """All steps of a rollout in one axis."""
    return leaf.reshape(math.prod(leaf.shape[:4]), *leaf.shape[4:])


def split_steps(
    leaf: Shaped[Array, " steps"], like: Shaped[Array, "time members roles kitchens"]
) -> Shaped[Array, "time members roles kitchens"]:
    """From all steps in one axis back to the order of a rollout, in the shape of another array."""
    return leaf.reshape(like.shape)


def by_partner(
    leaf: Shaped[Array, "members kitchens *rest"], partners: int
) -> Shaped[Array, "partners rows *rest"]:
    """From kitchens to the rows of each partner; kitchen e has partner e modulo `partners`."""
    members, kitchens, *rest = leaf.shape
    rounds = kitchens // partners
    return jnp.moveaxis(leaf.reshape(members * rounds, partners, *rest), 1, 0)


def from_partner(
    leaf: Shaped[Array, "partners rows *rest"], members: int
) -> Shaped[Array, "members kitchens *rest"]:
    """From the rows of each partner back to kitchens."""
    partners, rows, *rest = leaf.shape
    return jnp.moveaxis(leaf, 0, 1).reshape(members, partners * rows // members, *rest)


def flatten_kitchens(
    leaf: Shaped[Array, "members kitchens *rest"],
) -> Shaped[Array, "all_kitchens *rest"]:
    """The kitchens of all members in one axis."""
    return _merge_first_two(leaf)


def split_kitchens(tree: Tree, members: int) -> Tree:
    """From the kitchens of all members back to [members, kitchens, ...]."""

    def split(leaf: AnyArray) -> AnyArray:
        return leaf.reshape(members, leaf.shape[0] // members, *leaf.shape[1:])

    return jax.tree.map(split, tree)


def _merge_first_two(leaf: Array) -> Array:
    # Not reshape(-1, ...): the carry of a network that is not recurrent is empty, and -1 is
    # ambiguous for an empty array.
    return leaf.reshape(leaf.shape[0] * leaf.shape[1], *leaf.shape[2:])
