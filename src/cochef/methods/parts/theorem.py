"""Why a distribution over hidden rewards is enough (HSP paper, theorem 5.1), checked on a game.

For any epsilon there is a distribution P_R over hidden rewards such that the best policy pi_A for
partners from P_R is at most epsilon worse with people, drawn from P_H, than the best policy for
people. The proof (its appendix A) rounds every person's policy to probabilities i / K, and finds
a hidden reward for each of the rounded policies by lemma 5.1. `check_theorem` does so for a game
with few states. Nothing is taken over from the rounded policies but their rewards: partners are
what an independent solution of the game gives for these rewards.

All J are expected discounted task rewards. The proof's inequalities hold for any set of adaptive
policies; here it is the deterministic ones, of which the best is found by trying all.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from cochef.methods.parts.lemma import hidden_reward, with_fixed_partner

Policies = Float[np.ndarray, "policies states actions"]
AdaptivePolicies = Float[np.ndarray, "adaptive states actions"]

_CONVERGED = 1e-13  # change of the values in a step of soft value iteration


@dataclass(frozen=True)
class SmallGame:
    """A game for two with few states: a person, whose actions come first, and an adaptive agent."""

    transitions: Float[np.ndarray, "states actions actions states"]
    task_reward: Float[np.ndarray, "states actions actions"]
    start: Float[np.ndarray, " states"]
    discount: float
    temperature: float  # alpha, the weight of the policies' entropy in lemma 5.1

    @property
    def actions(self) -> int:
        """How many actions either player has."""
        return self.task_reward.shape[1]

    @property
    def largest_reward(self) -> float:
        """R_max."""
        return float(np.abs(self.task_reward).max())


@dataclass(frozen=True)
class TheoremCheck:
    """What came out for one K, next to what the proof promises."""

    levels: int  # K
    people: int  # policies of P_H
    hidden_rewards: int  # different ones, each with a policy of its own
    rounding: float  # largest change of a probability by rounding
    rounding_bound: float  # delta = |A| / K
    recovery: float  # largest difference of a rounded policy and the one that its reward leads to
    change: float  # largest |E_{P_R} J - E_{P_H} J| of all adaptive policies
    change_bound: float  # 2 delta R_max / (1 - discount)^2
    with_people: float  # E_{P_H} J of the pi_A that is best for P_R
    best_with_people: float  # max over pi' of E_{P_H} J
    epsilon: float  # 4 delta R_max / (1 - discount)^2

    @property
    def gap(self) -> float:
        """How much is lost with people; the theorem says at most epsilon."""
        return self.best_with_people - self.with_people

    @property
    def holds(self) -> bool:
        """Whether all three bounds hold."""
        return (
            self.rounding <= self.rounding_bound
            and self.change <= self.change_bound
            and self.gap <= self.epsilon
        )


def random_game(seed: int, states: int = 4, actions: int = 3, discount: float = 0.5) -> SmallGame:
    """A game with random transitions and task rewards between -1 and 1."""
    generator = np.random.default_rng(seed)
    return SmallGame(
        transitions=generator.dirichlet(np.full(states, 0.5), size=(states, actions, actions)),
        task_reward=generator.uniform(-1, 1, size=(states, actions, actions)),
        start=np.full(states, 1 / states),
        discount=discount,
        temperature=0.5,
    )


def random_people(game: SmallGame, people: int, seed: int) -> Policies:
    """P_H: different policies, all as likely; most people prefer some action in every state."""
    generator = np.random.default_rng(seed)
    concentration = np.full(game.actions, 0.5)
    return generator.dirichlet(concentration, size=(people, len(game.start)))


def check_theorem(game: SmallGame, people: Policies, levels: Sequence[int]) -> list[TheoremCheck]:
    """Go through the theorem's construction for some K, the `levels`."""
    adaptive = _deterministic_policies(game)
    with_people = np.stack([_task_values(game, person, adaptive) for person in people])
    return [_check(game, people, adaptive, with_people.mean(axis=0), number) for number in levels]


def _check(
    game: SmallGame,
    people: Policies,
    adaptive: AdaptivePolicies,
    with_people: Float[np.ndarray, " adaptive"],
    levels: int,
) -> TheoremCheck:
    counts = round_policies(people, levels)
    # P_H-hat: the rounded policies, each as likely as all people who are rounded to it.
    rounded, people_of = np.unique(counts, axis=0, return_counts=True)
    policies = rounded / levels
    probability = people_of / len(people)
    dynamics = _dynamics_of(game, policies)
    rewards = _hidden_rewards(game, policies, dynamics)
    recovered = soft_optimal(rewards, dynamics, game.discount, game.temperature)
    values = np.stack([_task_values(game, policy, adaptive) for policy in recovered])
    with_rewards = probability @ values  # E_{P_R} J of every adaptive policy
    chosen = int(with_rewards.argmax())
    delta = game.actions / levels
    scale = delta * game.largest_reward / (1 - game.discount) ** 2
    return TheoremCheck(
        levels=levels,
        people=len(people),
        hidden_rewards=len(np.unique(rewards, axis=0)),
        rounding=float(np.abs(people - counts / levels).max()),
        rounding_bound=delta,
        recovery=float(np.abs(recovered - policies).max()),
        change=float(np.abs(with_rewards - with_people).max()),
        change_bound=2 * scale,
        with_people=float(with_people[chosen]),
        best_with_people=float(with_people.max()),
        epsilon=4 * scale,
    )


def round_policies(policies: Policies, levels: int) -> Int[np.ndarray, "policies states actions"]:
    """G(pi) times K: the nearest probabilities i / K with i from 1 on that sum to 1.

    One unit after the other goes to the action that lacks most, which minimises the sum of the
    differences.
    """
    actions = policies.shape[-1]
    if levels <= actions:
        raise ValueError(f"levels is {levels}; it takes more than the {actions} actions")
    wanted = policies * levels
    found = np.ones_like(wanted, dtype=int)
    for _ in range(levels - actions):
        lacks_most = (wanted - found).argmax(axis=-1)
        found += np.eye(actions, dtype=int)[lacks_most]
    return found


def soft_optimal(
    rewards: Float[np.ndarray, "games states actions"],
    dynamics: Float[np.ndarray, "games states actions states"],
    discount: float,
    temperature: float,
) -> Float[np.ndarray, "games states actions"]:
    """The policies that maximise discounted reward and entropy, by soft value iteration."""
    values = np.zeros(rewards.shape[:2])
    while True:
        following = (dynamics @ values[:, None, :, None])[..., 0]
        scaled = (rewards + discount * following) / temperature
        largest = scaled.max(axis=2, keepdims=True)
        weights = np.exp(scaled - largest)
        sums = weights.sum(axis=2, keepdims=True)
        better = temperature * (largest + np.log(sums))[..., 0]
        if np.abs(better - values).max() < _CONVERGED:
            return weights / sums
        values = better


def _dynamics_of(
    game: SmallGame, policies: Policies
) -> Float[np.ndarray, "p states actions states"]:
    """The dynamics P' that each pi_w plays in, with the pi_a that is best for the task."""
    facing = np.einsum("sabn,psa->psbn", game.transitions, policies)
    task = np.einsum("sab,psa->psb", game.task_reward, policies)
    partners = soft_optimal(task, facing, game.discount, game.temperature)
    return np.stack([with_fixed_partner(game.transitions, partner) for partner in partners])


def _hidden_rewards(game: SmallGame, policies: Policies, dynamics: np.ndarray) -> np.ndarray:
    """R_w of each pi_w, all different: where two would be the same, b(s) is chosen anew."""
    found: list[np.ndarray] = []
    taken: set[bytes] = set()
    for policy, own in zip(policies, dynamics, strict=True):
        base = np.zeros(len(policy))
        reward = hidden_reward(own, policy, base, game.discount, game.temperature)
        while reward.tobytes() in taken:
            base = base + 1.0
            reward = hidden_reward(own, policy, base, game.discount, game.temperature)
        taken.add(reward.tobytes())
        found.append(reward)
    return np.stack(found)


def _deterministic_policies(game: SmallGame) -> AdaptivePolicies:
    states = len(game.start)
    choices = np.array(list(itertools.product(range(game.actions), repeat=states)))
    return np.eye(game.actions)[choices]


def _task_values(
    game: SmallGame, person: Float[np.ndarray, "states actions"], adaptive: AdaptivePolicies
) -> Float[np.ndarray, " adaptive"]:
    """J(pi_A, pi_H) of every adaptive policy with one person, by linear equations."""
    dynamics = np.einsum("sabn,sa,psb->psn", game.transitions, person, adaptive)
    rewards = np.einsum("sab,sa,psb->ps", game.task_reward, person, adaptive)
    identity = np.eye(len(game.start))
    values = np.linalg.solve(identity - game.discount * dynamics, rewards[..., None])
    return values[..., 0] @ game.start
