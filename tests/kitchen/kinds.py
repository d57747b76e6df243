"""Kitchens for tests that need not go through all of them."""

import pytest

one_of_each_kind = pytest.mark.parametrize(
    "name", ["cramped_room", "many_orders", "forced_coordination_multi"]
)
