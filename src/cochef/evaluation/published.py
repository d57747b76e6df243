"""The scores that the HSP paper reports, next to ours."""

import tomllib
from functools import cache
from importlib import resources

from cochef.evaluation.records import Records
from cochef.evaluation.tables import ResultTable, score

PublishedScore = tuple[float, float]  # mean and standard deviation

_SEAT = " seat "


@cache
def scores(layout: str) -> dict[str, dict[str, PublishedScore]]:
    """The paper's scores in a layout by partner (perhaps with a seat) and method.

    Empty for layouts that the paper does not have.
    """
    text = (resources.files("cochef.evaluation") / "published.toml").read_text("utf-8")
    found = {}
    for partner, row in tomllib.loads(text).get(layout, {}).items():
        found[partner] = {method: tuple(pair) for method, pair in row.items()}
    return found


def comparison(records: Records, layout: str, title: str) -> ResultTable | None:
    """Our mean scores and the paper's, by the paper's partners; agents are labelled by method."""
    methods = records.labels("agent")
    header = ["partner"]
    for method in methods:
        header += [method, f"{method}, paper"]
    body = []
    for row, published in scores(layout).items():
        partner, _, seat = row.partition(_SEAT)
        own = records.where(records["partner"] == partner)
        if seat:
            own = own.where(own["seat"] == int(seat))
        if not len(own):
            continue
        cells = [row]
        for method in methods:
            ours = own.where(own["agent"] == method)
            cells += [score(ours.summary()), _published_cell(published.get(method))]
        body.append(tuple(cells))
    return ResultTable(title, tuple(header), tuple(body)) if body else None


def _published_cell(published: PublishedScore | None) -> str:
    if published is None:
        return "-"
    mean, deviation = published
    return f"{mean:.1f} ± {deviation:.1f}"
