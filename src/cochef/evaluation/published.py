"""The numbers of the paper, to be put next to ours."""

import tomllib
from functools import cache
from importlib import resources

from cochef.evaluation.records import Records
from cochef.evaluation.tables import Table, score

Figures = dict[str, dict[str, tuple[float, float]]]  # by partner, perhaps with a seat, and method: mean and deviation

_SEAT = " seat "


@cache
def figures(layout: str) -> Figures:
    """What the paper reports for a kitchen; nothing for kitchens that it does not have."""
    text = (resources.files("cochef.evaluation") / "published.toml").read_text("utf-8")
    rows = tomllib.loads(text).get(layout, {})
    return {partner: {method: tuple(pair) for method, pair in row.items()} for partner, row in rows.items()}


def comparison(records: Records, layout: str, title: str) -> Table | None:
    """Our mean scores and the paper's, for the partners that the paper has; agents are labelled by method."""
    methods = records.labels("agent")
    header = ["partner"]
    for method in methods:
        header += [method, f"{method}, paper"]
    body = []
    for row, published in figures(layout).items():
        partner, _, seat = row.partition(_SEAT)
        own = records.where(records["partner"] == partner)
        if seat:
            own = own.where(own["seat"] == int(seat))
        if not len(own):
            continue
        cells = [row]
        for method in methods:
            mean, deviation = published.get(method, (None, None))
            ours = own.where(own["agent"] == method)
            cells += [score(ours.summary()), "-" if mean is None else f"{mean:.1f} ± {deviation:.1f}"]
        body.append(tuple(cells))
    return Table(title, tuple(header), tuple(body)) if body else None
