"""The scores that the HSP paper reports, next to ours."""

import tomllib
from functools import cache
from importlib import resources

from cochef.agents import shipped
from cochef.evaluation.records import Records
from cochef.evaluation.tables import ResultTable, error_note, mean_text, score

PublishedScore = tuple[float, float]  # mean and standard deviation

_SEAT = " seat "
_HUMAN = "human"  # the paper's human model


@cache
def scores(layout: str) -> dict[str, dict[str, PublishedScore]]:
    """The paper's scores in a layout by partner (perhaps with a seat) and method.

    The paper has one human model of a layout, made by the recipe of 2019; its scores stand next to
    all of ours. Empty for layouts that the paper does not have.
    """
    text = (resources.files("cochef.evaluation") / "published.toml").read_text("utf-8")
    found = {}
    for partner, row in tomllib.loads(text).get(layout, {}).items():
        for name in _stand_ins(partner):
            found[name] = {method: tuple(pair) for method, pair in row.items()}
    return found


def _stand_ins(partner: str) -> list[str]:
    """Our partners, with their seat, that the paper's partner is compared with."""
    kind, _, place = partner.partition(":")
    if kind != _HUMAN:
        return [partner]
    return [f"{clone}:{place}" for clone in shipped.EVALUATION_CLONES]


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
            ours_text = score(ours.summary(unit=records.unit)) if len(ours) else "-"
            cells += [ours_text, _published_cell(published.get(method))]
        body.append(tuple(cells))
    if not body:
        return None
    note = f"{error_note(records)} The paper's is over its own training seeds."
    return ResultTable(title, tuple(header), tuple(body), note=note)


def _published_cell(published: PublishedScore | None) -> str:
    if published is None:
        return "-"
    return mean_text(*published)
