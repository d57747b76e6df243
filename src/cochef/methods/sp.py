"""Self-play: one learner plays both roles for the task reward."""

from cochef.methods.parts.method import Method, PopulationSpec, first_line

POPULATION = PopulationSpec("sp")

METHOD = Method(
    name="sp",
    title="Self-play",
    citation="Carroll et al. 2019",
    summary=first_line(__doc__),
    populations=(POPULATION,),
)
