"""The page about HSP's pools says what agents learn from with each of them."""

from cochef.reproduction import EXPERIMENTS, pages
from cochef.reproduction.declared import Stored
from cochef.reproduction.plan import Scope
from cochef.reproduction.stored import Results
from tests.reproduction import made_up


def test_with_every_pool_agents_learn_in_as_many_kitchens_for_as_many_updates(tmp_path):
    found = Stored(Results(tmp_path, "laptop", {}), ("counter_circuit",))
    pages.write(found, Scope((EXPERIMENTS["pool-construction"],)), tmp_path / "pages")
    table = (tmp_path / "pages" / "pool-construction" / "learning.csv").read_bytes()
    rows = made_up.columns_of(table)
    pools = {row["condition"]: row["policies in the pool"] for row in rows}
    assert pools == {"hsp pool=no-mep": "36", "hsp pool=no-filter": "54", "hsp": "36"}
    assert len({(row["kitchens"], row["updates"], row["environment steps"]) for row in rows}) == 1
    page = (tmp_path / "pages" / "pool-construction" / "report.md").read_text()
    assert f"| hsp pool=no-filter | 54 | {rows[1]['kitchens']} |" in page
