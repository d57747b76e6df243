"""Fictitious co-play: adapts to self-play policies at three levels of skill.

The pool has every policy and two earlier versions of it (section 3 of the HSP paper): 12 x 3 = 36.
"""

from collections.abc import Mapping

from cochef.methods import sp
from cochef.methods.parts.method import Method, Sizes, doubled, first_line
from cochef.methods.parts.pools import PoolChoice, TrainedPopulation, skill_levels


def pool(populations: Mapping[str, TrainedPopulation], sizes: Sizes, seed: int) -> list[PoolChoice]:
    """All self-play policies at all levels of skill."""
    return skill_levels("sp", populations["sp"])


METHOD = Method(
    name="fcp",
    title="Fictitious co-play",
    citation="Strouse et al. 2021",
    summary=first_line(__doc__),
    populations=(sp.POPULATION,),
    pool=pool,
    variants={"double": doubled},
)
