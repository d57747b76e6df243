from importlib import resources

import pytest

from cochef.kitchen import layout_import, layouts
from cochef.kitchen.constants import Cooking
from cochef.kitchen.layouts import LayoutError
from tests.reference.engine import AutomaticGridworld

OLD = """{
    "grid": '''XXPXX
               O1 2T
               X   X
               XDXSX''',
    "start_order_list": None,
    "cook_time": %s,
    "num_items_for_soup": 3,
    "delivery_reward": 20,
    "rew_shaping_params": None,
}"""
NEW = """{
    "grid": '''XXPXX
               O1 2T
               X   X
               XDXSX''',
    "start_all_orders": [{"ingredients": ["onion"]}, {"ingredients": ["onion", "tomato"]}],
    "start_bonus_orders": [{"ingredients": ["onion"]}],
    "onion_value": 10, "tomato_value": 5, "onion_time": 20, "tomato_time": 4,
}"""


def _read(tmp_path, text, **options):
    path = tmp_path / "mine.layout"
    path.write_text(text)
    return layout_import.read(path, **options)


def _orders(layout):
    return {order.contents: (order.value, order.time) for order in layout.orders}


def test_a_file_of_2019_cooks_by_itself_and_pays_for_soups_of_one_ingredient(tmp_path):
    layout = _read(tmp_path, OLD % 20)
    assert (layout.name, layout.cooking) == ("mine", Cooking.AUTOMATIC)
    assert layout.rows_with_starts == ["XXPXX", "O1 2T", "X   X", "XDXSX"]
    assert _orders(layout) == {(3, 0): (20, 20), (0, 3): (20, 20)}


def test_soups_that_pay_nothing_keep_their_cooking_time(tmp_path):
    layout = _read(tmp_path, OLD % 5)
    assert _orders(layout) == {(3, 0): (20, 5), (2, 1): (0, 5), (1, 2): (0, 5), (0, 3): (20, 5)}


def test_a_newer_file_is_lit_by_hand_and_bonus_orders_pay_double(tmp_path):
    layout = _read(tmp_path, NEW)
    assert layout.cooking is Cooking.MANUAL
    found = _orders(layout)
    assert found[1, 0] == (20, 20)
    assert found[1, 1] == (15, 24)
    assert found[0, 3] == (0, 12)


def test_what_is_imported_can_be_written_and_read_as_our_own(tmp_path):
    layout = _read(tmp_path, NEW)
    assert layouts.parse(layouts.to_toml(layout), "mine") == layout


def test_files_that_ship_with_overcooked_ai_mean_the_same_values_and_times():
    folder = resources.files("overcooked_ai_py") / "data" / "layouts"
    for name in ("cramped_corridor", "asymmetric_advantages_tomato", "long_cook_time"):
        layout = layout_import.read(folder / f"{name}.layout")
        rules = AutomaticGridworld.from_layout_name(name)
        state = rules.get_standard_start_state()
        for order in state.all_orders:
            contents = (order.ingredients.count("onion"), order.ingredients.count("tomato"))
            expected = (rules.get_recipe_value(state, order), order.time)
            assert _orders(layout)[contents] == expected
        assert [tuple(start) for start in layout.starts] == rules.start_player_positions


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__import__('os').system('true')", "not a layout of overcooked_ai, one Python dictionary"),
        ("[1, 2]", "the file is [1, 2]; it takes a table of settings"),
        (OLD.replace("cook_time", "cooking") % 5, "unknown key 'cooking'; allowed: grid, "),
        (OLD % "'fast'", "cook_time is 'fast'; it takes a whole number"),
        (OLD.replace('soup": 3', 'soup": 2') % 5, "num_items_for_soup is 2; only 3"),
        (OLD.replace('list": None', "list\": ['onion']") % 5, "start_order_list is ['onion']"),
        (OLD.replace("O1 2T", "O1 3T") % 5, "unknown tile '3' at column 4, row 2"),
        (NEW.replace('"onion", "tomato"', '"onion", "rice"'), 'takes {"ingredients": [...]}'),
        (NEW.replace("O1 2T", "O1 2X"), "the order 'ot' cannot be cooked here"),
    ],
)
def test_a_file_that_cannot_be_played_is_refused_with_the_reason(text, message, tmp_path):
    with pytest.raises(LayoutError) as error:
        _read(tmp_path, text)
    assert message in str(error.value)
