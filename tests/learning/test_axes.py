"""Every conversion between orders of axes, on arrays whose numbers name their place."""

import inspect
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cochef.learning import axes

SMALL = st.integers(1, 4)
REST = st.lists(st.integers(1, 3), max_size=2).map(tuple)
few = settings(max_examples=12, deadline=None)


def named(*shape):
    """Numbers that name their place: no two are the same."""
    return np.arange(np.prod(shape, dtype=np.int32), dtype=np.int32).reshape(shape)


def convert(function, tree, *settings):
    """What a conversion gives, as numpy arrays, which are indexed quickly."""
    converted = function(jax.tree.map(jnp.asarray, tree), *settings)
    return jax.tree.map(np.asarray, converted)


def same(one, other):
    return np.shape(one) == np.shape(other) and np.array_equal(one, other)


places = np.ndindex


@few
@given(members=SMALL, rest=REST, kitchens=SMALL)
def test_stepping_has_the_kitchens_of_all_members_last(members, rest, kitchens):
    before = {"leaf": named(members, *rest, kitchens)}
    after = convert(axes.to_stepping, before)
    assert after["leaf"].shape == (*rest, members * kitchens)
    for member, kitchen in places(members, kitchens):
        own = before["leaf"][member, ..., kitchen]
        assert same(after["leaf"][..., member * kitchens + kitchen], own)
    assert same(convert(axes.from_stepping, after, members)["leaf"], before["leaf"])


@few
@given(members=SMALL, kitchens=SMALL, rest=REST)
def test_kitchens_before_other_axes_go_to_stepping_and_back(members, kitchens, rest):
    before = {"leaf": named(members, kitchens, *rest)}
    after = convert(axes.kitchens_to_stepping, before)
    assert after["leaf"].shape == (*rest, members * kitchens)
    for member, kitchen in places(members, kitchens):
        own = before["leaf"][member, kitchen]
        assert same(after["leaf"][..., member * kitchens + kitchen], own)
    assert same(convert(axes.stepping_to_kitchens, after, members)["leaf"], before["leaf"])


@few
@given(members=SMALL, kitchens=SMALL, rest=REST)
def test_what_stepping_gives_for_both_seats_comes_by_member(members, kitchens, rest):
    before = named(2, *rest, members * kitchens)
    after = convert(axes.seats_by_member, before, members)
    assert after.shape == (members, 2, kitchens, *rest)
    for member, seat, kitchen in places(members, 2, kitchens):
        assert same(after[member, seat, kitchen], before[seat, ..., member * kitchens + kitchen])


@few
@given(members=SMALL, kitchens=SMALL)
def test_joint_actions_are_those_of_both_seats_in_the_order_of_stepping(members, kitchens):
    actions = named(members, 2, kitchens)
    joint = convert(axes.joint_actions, actions)
    assert joint.shape == (2, members * kitchens)
    assert same(convert(axes.seats_by_member, joint, members), actions)


@few
@given(members=SMALL, kitchens=SMALL, rest=REST, data=st.data())
def test_seats_and_roles_are_exchanged_where_role_0_sits_in_seat_1(members, kitchens, rest, data):
    seats = st.lists(st.integers(0, 1), min_size=members * kitchens, max_size=members * kitchens)
    seat = np.array(data.draw(seats), np.int32).reshape(members, kitchens)
    before = named(members, 2, kitchens, *rest)
    after = convert(axes.exchange_seats_and_roles, before, jnp.asarray(seat))
    for member, role, kitchen in places(members, 2, kitchens):
        seat_of_role = int(seat[member, kitchen]) ^ role
        assert same(after[member, role, kitchen], before[member, seat_of_role, kitchen])
    assert same(convert(axes.exchange_seats_and_roles, after, jnp.asarray(seat)), before)


LEARNERS_AND_ROLES = st.sampled_from([(1, 1), (1, 2), (2, 2)])


@few
@given(members=SMALL, which=LEARNERS_AND_ROLES, kitchens=SMALL, rest=REST)
def test_the_rows_of_a_learner_are_the_kitchens_of_its_roles(members, which, kitchens, rest):
    learners, roles = which
    before = named(members, roles, kitchens, *rest)
    after = convert(axes.roles_to_rows, before, learners)
    assert after.shape == (members, learners, roles // learners * kitchens, *rest)
    for member, role, kitchen in places(members, roles, kitchens):
        learner = role if learners == 2 else 0
        row = kitchen if learners == 2 else role * kitchens + kitchen
        assert same(after[member, learner, row], before[member, role, kitchen])
    assert same(convert(axes.rows_to_roles, after, roles), before)


@few
@given(time=SMALL, members=SMALL, roles=st.integers(1, 2), kitchens=SMALL, rest=REST)
def test_over_roles_repeats_what_a_kitchen_has(time, members, roles, kitchens, rest):
    before = named(time, members, kitchens, *rest)
    after = convert(axes.over_roles, before, roles)
    assert after.shape == (time, members, roles, kitchens, *rest)
    for role in range(roles):
        assert same(after[:, :, role], before)


@few
@given(time=SMALL, members=SMALL, which=LEARNERS_AND_ROLES, kitchens=SMALL, rest=REST)
def test_an_update_has_the_learners_of_all_members_first(time, members, which, kitchens, rest):
    learners, roles = which
    before = named(time, members, roles, kitchens, *rest)
    after = convert(axes.by_learner, before, learners)
    assert after.shape == (members * learners, time, roles // learners * kitchens, *rest)
    for step in range(time):
        rows = convert(axes.merge_learners, convert(axes.roles_to_rows, before[step], learners))
        assert same(after[:, step], rows)


@few
@given(members=SMALL, learners=st.integers(1, 2), rest=REST)
def test_learners_are_merged_and_split_again(members, learners, rest):
    before = {"leaf": named(members, learners, *rest)}
    after = convert(axes.merge_learners, before)
    for member, learner in places(members, learners):
        own = before["leaf"][member, learner]
        assert same(after["leaf"][member * learners + learner], own)
    assert same(convert(axes.split_learners, after, learners)["leaf"], before["leaf"])


@few
@given(rest=REST)
def test_what_a_member_has_gets_an_axis_of_one_member_and_loses_it_again(rest):
    own = {"leaf": named(*rest)}
    alone = convert(axes.add_member_axis, own)
    assert alone["leaf"].shape == (1, *rest)
    assert same(convert(axes.drop_member_axis, alone)["leaf"], own["leaf"])


@few
@given(learners=SMALL, chunks=SMALL, chunk=SMALL, rows=SMALL, blocks=SMALL, rest=REST)
def test_chunks_of_time_stay_together(learners, chunks, chunk, rows, blocks, rest):
    before = named(learners, chunks * chunk, rows * blocks, *rest)
    after = convert(axes.chunk_time, before, chunk, blocks)
    assert after.shape == (learners, chunks * blocks, chunk, rows, *rest)
    for number, block, step in places(chunks, blocks, chunk):
        at_once = before[:, number * chunk + step]
        assert same(after[:, number * blocks + block, step], at_once[:, block::blocks])


@few
@given(chunks=SMALL, chunk=SMALL, rows=SMALL, rest=REST)
def test_chunks_lie_side_by_side_with_their_carries(chunks, chunk, rows, rest):
    before = named(chunks, chunk, rows, *rest)
    after = convert(axes.chunks_to_rows, before)
    assert after.shape == (chunk, chunks * rows, *rest)
    carries = convert(axes.carries_to_rows, named(chunks, rows, 3))
    assert carries.shape == (chunks * rows, 3)
    for number, row in places(chunks, rows):
        assert same(after[:, number * rows + row], before[number, :, row])
        assert same(carries[number * rows + row], named(chunks, rows, 3)[number, row])


@few
@given(time=SMALL, members=SMALL, roles=st.integers(1, 2), kitchens=SMALL, rest=REST)
def test_all_steps_come_in_one_row_in_their_order(time, members, roles, kitchens, rest):
    before = named(time, members, roles, kitchens, *rest)
    after = convert(axes.flatten_steps, before)
    for row, place in enumerate(places(time, members, roles, kitchens)):
        assert same(after[row], before[place])
    assert len(after) == time * members * roles * kitchens
    actions = before[(..., *(0,) * len(rest))]
    steps = convert(axes.flatten_steps, actions)
    assert same(convert(axes.split_steps, steps, jnp.asarray(actions)), actions)


@few
@given(time=SMALL, members=SMALL, rest=REST)
def test_a_rollout_with_its_members_first_has_the_same_entries(time, members, rest):
    before = named(time, members, *rest)
    after = convert(axes.members_first, before)
    for step, member in places(time, members):
        assert same(after[member, step], before[step, member])


@few
@given(epochs=SMALL, minibatches=SMALL, part=SMALL)
def test_every_epoch_is_cut_into_its_minibatches_in_order(epochs, minibatches, part):
    before = named(epochs, minibatches * part)
    after = convert(axes.cut_epochs, before, minibatches)
    for epoch, minibatch in places(epochs, minibatches):
        own = before[epoch, minibatch * part : (minibatch + 1) * part]
        assert same(after[epoch * minibatches + minibatch], own)


@few
@given(members=SMALL, partners=SMALL, rounds=SMALL, rest=REST)
def test_kitchen_e_has_partner_e_modulo_their_number(members, partners, rounds, rest):
    kitchens = partners * rounds
    before = named(members, kitchens, *rest)
    after = convert(axes.by_partner, before, partners)
    assert after.shape == (partners, members * rounds, *rest)
    for member, kitchen in places(members, kitchens):
        row = member * rounds + kitchen // partners
        assert same(after[kitchen % partners, row], before[member, kitchen])
    assert same(convert(axes.from_partner, after, members), before)


@few
@given(members=SMALL, kitchens=SMALL, rest=REST)
def test_the_kitchens_of_all_members_are_flattened_and_split_again(members, kitchens, rest):
    before = named(members, kitchens, *rest)
    after = convert(axes.flatten_kitchens, before)
    for member, kitchen in places(members, kitchens):
        assert same(after[member * kitchens + kitchen], before[member, kitchen])
    assert same(convert(axes.split_kitchens, after, members), before)


def test_an_empty_carry_keeps_its_shape_in_every_order():
    nothing = named(2, 3, 0)
    assert convert(axes.merge_learners, nothing).shape == (6, 0)
    assert convert(axes.split_learners, convert(axes.merge_learners, nothing), 3).shape == (2, 3, 0)
    assert convert(axes.split_kitchens, convert(axes.flatten_kitchens, nothing), 2).shape == (
        2,
        3,
        0,
    )
    assert convert(axes.from_partner, convert(axes.by_partner, nothing, 3), 2).shape == (2, 3, 0)
    rows = convert(axes.roles_to_rows, named(2, 2, 5, 0), 1)
    assert rows.shape == (2, 1, 10, 0)
    assert convert(axes.rows_to_roles, rows, 2).shape == (2, 2, 5, 0)
    stepping = convert(axes.kitchens_to_stepping, nothing)
    assert stepping.shape == (0, 6)
    assert convert(axes.stepping_to_kitchens, stepping, 2).shape == (2, 3, 0)


def test_every_conversion_is_tested():
    functions = inspect.getmembers(axes, inspect.isfunction)
    own = {name for name, value in functions if value.__module__ == axes.__name__}
    public = {name for name in own if not name.startswith("_")}
    source = Path(__file__).read_text("utf-8")
    assert len(public) > 15
    assert {name for name in public if f"axes.{name}," not in source} == set()
