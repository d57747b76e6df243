"""Critics of finished runs: how much task and shaped reward a learner expects from a state on."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from cochef.agents import actor_critic
from cochef.agents.actor_critic import observation_spec, observe
from cochef.agents.network_config import ObservationKind
from cochef.agents.networks import Network, ValueHead
from cochef.errors import InputError, shown
from cochef.kitchen.constants import Action
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State
from cochef.learning import checkpoints, runs
from cochef.learning.config import TrainingConfig
from cochef.learning.partner_sampling import PartnerIdentity
from cochef.learning.ppo import LearnerState, new_learner
from cochef.learning.returns import ValueNormalizer
from cochef.validation import whole_number


class Critic(eqx.Module):
    """The critic of a learner, with its recurrent state in a carry as agents have it."""

    actor: Network
    critic: Network | ValueHead
    normalizer: ValueNormalizer
    layout: Layout = eqx.field(static=True)
    observation: ObservationKind = eqx.field(static=True)
    identities: int = eqx.field(static=True)  # how many numbers say who the partner is

    def begin(self) -> Float[Array, " carry"]:
        """The recurrent state that an episode starts with."""
        owner = self.actor if isinstance(self.critic, ValueHead) else self.critic
        return owner.initial_carry()

    def value(
        self,
        state: State,
        seat: int,
        carry: Float[Array, " carry"],
        identity: Float[Array, " identities"] | None = None,
    ) -> tuple[Float[Array, ""], Float[Array, " carry"]]:
        """The discounted reward that is expected from here on, and the next recurrent state.

        `identity` says who the partner is, as in the training with a pool; zeros if not given.
        """
        seen = observe(self.layout, self.observation, state)[seat]
        told = None
        if self.identities:
            told = jnp.zeros(self.identities) if identity is None else jnp.asarray(identity)
        if isinstance(self.critic, ValueHead):
            # Both have axes of time and rows, of which there is one here.
            starts: Bool[Array, "1 1"] = jnp.zeros((1, 1), bool)
            features, _ = self.actor.features(seen[None, None], starts, carry[None])
            output = self.critic(features[0, 0], told)
            _, carry = self.actor.step(seen, carry)
        else:
            output, carry = self.critic.step(seen, carry, told)
        return self.normalizer.denormalize(output)[0], carry


def load_critic(directory: Path, layout: Layout, member: int = 0, learner: int = 0) -> Critic:
    """The critic of a learner, from the last checkpoint of its run."""
    config = runs.read_config(directory)
    path = directory / runs.CHECKPOINTS
    network = actor_critic.read_config(config["training"]["network"], path)
    identities = _identities(config)
    skeleton: LearnerState = jax.eval_shape(
        lambda: new_learner(
            TrainingConfig(network=network),
            observation_spec(layout, network.observation),
            len(Action),
            jax.random.key(0),
            identities,
        )
    )
    tensors = checkpoints.read_newest(path, layout)
    members, learners = tensors["learners.actor.head.bias"].shape[:2]
    whole_number(member, "member", 0, members - 1)
    whole_number(learner, "learner", 0, learners - 1)

    def part(name: str) -> Any:  # noqa: ANN401
        return checkpoints.learner_part(
            tensors, name, getattr(skeleton, name), np.s_[member, learner], path
        )

    return Critic(
        part("actor"),
        part("critic"),
        part("value_normalizer"),
        layout,
        network.observation,
        identities,
    )


def _identities(config: dict[str, Any]) -> int:
    """How many numbers the critics of a run are told about the partner."""
    if "pool" not in config:
        return 0
    match config.get("identity"):
        case PartnerIdentity.NONE.value:
            return 0
        case PartnerIdentity.NUMBER.value:
            return 1
        case PartnerIdentity.ONE_HOT.value:
            return len(config["pool"])
        case other:
            raise InputError(f"identity is {shown(other)} in a run's configuration")
