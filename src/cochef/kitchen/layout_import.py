"""Layouts from the `.layout` files of overcooked_ai.

Such a file is one Python dictionary, which is read as data and never run. Its soups, values and
cooking times become orders. Files for version 1.0 and newer list `start_all_orders`, and chefs
there start to cook by hand; files of 2019 do not, and pots there start by themselves.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cochef import validation
from cochef.errors import InputError, shown
from cochef.files import read_limited
from cochef.kitchen import layouts
from cochef.kitchen.constants import POT_CAPACITY, Cooking, Tile
from cochef.kitchen.layout import UNLISTED_COOKING_TIME, Contents, Layout, letters
from cochef.kitchen.layouts import LayoutError
from cochef.kitchen.recipes import all_contents

SUFFIX = ".layout"

_ORDERS = "start_all_orders"
_BONUS = "start_bonus_orders"
_VALUE = 20  # of a soup, and the steps that it cooks, where a file does not say
_ORDER_BONUS = 2
# These change rewards of its own learners, or nothing at all.
_IGNORED = ("rew_shaping_params", "explosion_time", "counter_goals", "layout_name")
_KEYS = (
    *("grid", _ORDERS, _BONUS, "order_bonus", "start_order_list", "num_items_for_soup"),
    *("delivery_reward", "onion_value", "tomato_value", "recipe_values"),
    *("cook_time", "onion_time", "tomato_time", "recipe_times"),
    *_IGNORED,
)


def read(path: Path, cooking: Cooking | None = None) -> Layout:
    """The layout in a `.layout` file, checked; `cooking` replaces what the file's version means."""
    content = read_limited(path, layouts.MAX_FILE_BYTES, "a layout file")
    try:
        table = _table(content.decode("utf-8-sig"))
        converted = _converted(table, cooking)
    except UnicodeDecodeError as error:
        raise LayoutError(f"{path}: byte {error.start} is not UTF-8 text") from None
    except InputError as error:
        raise LayoutError(f"{path}: {error}") from None
    return layouts.build(converted, path.stem, str(path))


def _table(text: str) -> Mapping[str, Any]:
    try:
        table = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise InputError(
            f"not a layout of overcooked_ai, one Python dictionary ({error})"
        ) from None
    validation.only(validation.table(table, "the file", "settings"), _KEYS)
    return table


def _converted(table: Mapping[str, Any], cooking: Cooking | None) -> dict[str, Any]:
    """The settings as those of our layout files."""
    rows = [row.strip() for row in validation.text(table.get("grid"), "grid").strip().split("\n")]
    if cooking is None:
        cooking = Cooking.MANUAL if _ORDERS in table else Cooking.AUTOMATIC
    items = table.get("num_items_for_soup", POT_CAPACITY)
    if items != POT_CAPACITY:
        raise InputError(f"num_items_for_soup is {shown(items)}; only {POT_CAPACITY} can be played")
    worth = dict(_listed(table, set("".join(rows)), cooking))
    orders = {
        letters(*contents): {"value": worth.get(contents, 0), "time": _time(table, contents)}
        for contents in _cookable(set("".join(rows)), cooking)
        # A soup that no order lists cooks 20 steps here: if it takes another time there, an order
        # of value 0 says so.
        if contents in worth or _time(table, contents) != UNLISTED_COOKING_TIME
    }
    return {"cooking": cooking.value, "grid": "\n".join(rows), "orders": orders}


def _cookable(tiles: set[str], cooking: Cooking) -> Iterator[Contents]:
    """The soups that can be made of a kitchen's ingredients."""
    least = POT_CAPACITY if cooking is Cooking.AUTOMATIC else 1
    for onions, tomatoes in all_contents():
        has_onions = not onions or Tile.ONION_DISPENSER.value in tiles
        has_tomatoes = not tomatoes or Tile.TOMATO_DISPENSER.value in tiles
        if onions + tomatoes >= least and has_onions and has_tomatoes:
            yield onions, tomatoes


def _listed(
    table: Mapping[str, Any], tiles: set[str], cooking: Cooking
) -> Iterator[tuple[Contents, int]]:
    """The soups that pay, and what."""
    if table.get("start_order_list") is not None:
        raise InputError(
            f"start_order_list is {shown(table['start_order_list'])}; orders that come one after "
            "the other cannot be played, only None"
        )
    cookable = list(_cookable(tiles, cooking))
    if _ORDERS not in table:
        for contents in cookable:
            if 0 in contents:  # the engine of 2019 knows no mixed soups
                yield contents, _value(table, contents)
        return
    bonus = [_contents(order) for order in _list(table, _BONUS)]
    times = validation.whole_number(table.get("order_bonus", _ORDER_BONUS), "order_bonus", 0)
    orders = [_contents(order) for order in _list(table, _ORDERS)]
    for contents in orders or cookable:
        if contents not in cookable:
            raise InputError(
                f"the order {letters(*contents)!r} cannot be cooked here: an ingredient is "
                f"missing, or pots start only with {POT_CAPACITY} items (see --cooking)"
            )
        yield contents, _value(table, contents) * (times if contents in bonus else 1)


def _value(table: Mapping[str, Any], contents: Contents) -> int:
    return _by_recipe(table, contents, ("delivery_reward", "recipe_values", "value"))


def _time(table: Mapping[str, Any], contents: Contents) -> int:
    return _by_recipe(table, contents, ("cook_time", "recipe_times", "time"))


def _by_recipe(table: Mapping[str, Any], contents: Contents, names: tuple[str, str, str]) -> int:
    """A soup's value or time: one for all, listed by recipe, or by ingredient, in this order."""
    for_all, by_recipe, by_ingredient = names
    if table.get(for_all):
        return validation.whole_number(table[for_all], for_all, 0)
    listed = [_contents(order) for order in _list(table, _ORDERS)]
    numbers = _list(table, by_recipe)
    if numbers and len(numbers) != len(listed):
        raise InputError(f"{by_recipe} has {len(numbers)} numbers for {len(listed)} orders")
    if numbers and contents in listed:
        return validation.whole_number(numbers[listed.index(contents)], by_recipe, 0)
    onion, tomato = (table.get(f"{item}_{by_ingredient}") for item in ("onion", "tomato"))
    if not onion or not tomato:
        return _VALUE
    onions, tomatoes = contents
    return onions * validation.whole_number(
        onion, f"onion_{by_ingredient}", 0
    ) + tomatoes * validation.whole_number(tomato, f"tomato_{by_ingredient}", 0)


def _list(table: Mapping[str, Any], name: str) -> list[Any]:
    return validation.entries(table.get(name) or [], name)


def _contents(order: object) -> Contents:
    ingredients = order.get("ingredients") if isinstance(order, dict) else None
    if not isinstance(ingredients, list) or not set(ingredients) <= {"onion", "tomato"}:
        raise InputError(
            f"the order {shown(order)} is none; it takes "
            '{"ingredients": [...]} with "onion" and "tomato"'
        )
    return ingredients.count("onion"), ingredients.count("tomato")
