"""Fictitious co-play: adapts to self-play policies at three levels of skill.

The pool has every policy and two earlier versions of it (section 3 of the HSP paper): 12 x 3 = 36.
"""

from cochef.methods import sp
from cochef.methods.parts.method import Method, doubled, first_line
from cochef.methods.parts.pools import all_levels

METHOD = Method(
    name="fcp",
    title="Fictitious co-play",
    citation="Strouse et al. 2021",
    summary=first_line(__doc__),
    populations=(sp.POPULATION,),
    pool=all_levels,
    variants={"double": doubled},
)
