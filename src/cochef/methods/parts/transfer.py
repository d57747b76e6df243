"""Transfer: learners that begin as final policies of a population with the task reward.

The same rule for all methods. Adaptive agents begin as policies of a population that their own
method has; so do the pairs of HSP's first stage whose reward has the task in it.
"""

import numpy as np
from jaxtyping import Float

LEAST_RETURN = 0.9  # of the best return: nobody begins as a policy that returns less


def parent_members(returns: Float[np.ndarray, " members"], number: int) -> list[int]:
    """The members that so many learners begin as: the best first, and in turn.

    Policies that have not learned the task are left out.
    """
    order = np.argsort(-returns, kind="stable")
    good = order[returns[order] >= LEAST_RETURN * returns.max()]
    return [int(good[place % len(good)]) for place in range(number)]
