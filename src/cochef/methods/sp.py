"""Self-play: one learner plays both roles for the task reward.

It maximises J(pi, pi | R_t) (section 3 of the HSP paper, with one network for both players, as the
authors' code has it) and needs no pool. Its policies are also FCP's population.
"""

from cochef.methods.parts.method import Method, PopulationSpec, first_line

POPULATION = PopulationSpec("sp")

METHOD = Method(
    name="sp",
    title="Self-play",
    citation="Carroll et al. 2019",
    summary=first_line(__doc__),
    populations=(POPULATION,),
)
