"""The filter of HSP: keep the biased policies that behave differently (section 5.3 and algorithm 1 of the paper)."""

import numpy as np
from jaxtyping import Float, Int

from cochef.errors import InputError

Counts = Float[np.ndarray, "policies events"]


def distances(counts: Counts) -> Float[np.ndarray, "policies policies"]:
    """Sum over events of |EC_k(i) - EC_k(j)| / max_i EC_k(i); events that nobody causes do not tell anybody apart."""
    most = counts.max(axis=0)
    scaled = counts / np.where(most > 0, most, 1.0)
    return np.abs(scaled[:, None] - scaled[None]).sum(axis=-1)


def event_diversity(counts: Counts, chosen: Int[np.ndarray, " chosen"]) -> float:
    """ED(S): the distances of all ordered pairs in a set, on the scale of the whole population."""
    return float(distances(counts)[np.ix_(chosen, chosen)].sum())


def select(counts: Counts, keep: int, seed: int) -> Int[np.ndarray, " keep"]:
    """Greedily, from a random first one, the policies that raise the event diversity most; in the order of choice."""
    if not 1 <= keep <= len(counts):
        raise InputError(f"keep is {keep}; of {len(counts)} policies it takes a number from 1 to {len(counts)}")
    apart = distances(counts)
    chosen = [int(np.random.default_rng(seed).integers(len(counts)))]
    gain = apart[chosen[0]].copy()
    while len(chosen) < keep:
        gain[chosen] = -np.inf
        chosen.append(int(gain.argmax()))
        gain = gain + apart[chosen[-1]]
    return np.array(chosen)
