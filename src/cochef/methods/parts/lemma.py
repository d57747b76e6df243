"""Why hidden rewards are enough: every policy is optimal for one of them (HSP paper, lemma 5.1).

For any policy pi_w of a two-player game there is a hidden reward R_w such that pi_w and a partner
pi_a, which maximises the task reward, are a Nash equilibrium. The proof (its appendix A) constructs
R_w; here are its steps for games with few states. Both players maximise their discounted reward and
alpha times the entropy of their policy.
"""

import numpy as np
from jaxtyping import Float

Policy = Float[np.ndarray, "states actions"]
Dynamics = Float[np.ndarray, "states actions states"]


def with_fixed_partner(
    transitions: Float[np.ndarray, "states actions actions states"], partner: Policy
) -> Dynamics:
    """The dynamics P' that pi_w plays in, once its partner pi_a is part of the environment.

    P'(s' | s, a) = sum_b P(s' | s, a, b) pi_a(b | s)
    """
    return np.einsum("sabn,sb->san", transitions, partner)


def hidden_reward(
    dynamics: Dynamics,
    policy: Policy,
    base_reward: Float[np.ndarray, " states"],
    discount: float,
    temperature: float,
) -> Float[np.ndarray, "states actions"]:
    """R_w(s, a), for which pi_w is optimal in the dynamics P', by the four steps of the proof.

    `policy` is pi_w, which takes every action now and then, and `temperature` is alpha.
    """
    if not (policy > 0).all():
        raise ValueError("a policy that never takes some action; it takes probabilities above 0")
    states = np.arange(len(policy))
    # Step 1: b(s), the reward of the likeliest action pi_w*(s), is free: it is `base_reward`.
    likeliest = policy.argmax(axis=1)
    # Step 2: A(s, a) = alpha (log pi_w(a | s) - log pi_w(pi_w*(s) | s)).
    log_policy = np.log(policy)
    advantage = temperature * (log_policy - log_policy[states, likeliest][:, None])
    # Step 3: V(s) = sum_a pi_w(a | s) A(s, a) + b(s) + alpha H(pi_w(s)) + discount E[V(s')], where
    # s' follows from pi_w*(s): linear in V. Then V*(s) = b(s) + discount E[V(s')].
    entropy = -(policy * log_policy).sum(axis=1)
    gain = (policy * advantage).sum(axis=1) + base_reward + temperature * entropy
    greedy_dynamics = dynamics[states, likeliest]
    values = np.linalg.solve(np.eye(len(policy)) - discount * greedy_dynamics, gain)
    best_values = base_reward + discount * greedy_dynamics @ values
    # Step 4: R_w(s, a) = A(s, a) - discount E[V(s') | s, a] + V*(s).
    return advantage - discount * dynamics @ values + best_values[:, None]
