"""JaxMARL's IPPO on its own Overcooked, feed-forward and recurrent, each with its own defaults.

The package comes without its baselines, so the algorithm is written anew, once for both, after
`baselines/IPPO/ippo_ff_overcooked.py` (FLAIROx/JaxMARL, 428e054) with
`config/ippo_ff_overcooked.yaml` (977191a), and `baselines/IPPO/ippo_rnn_overcooked_v2.py` (16cca53)
with `config/ippo_rnn_overcooked_v2.yaml` (a0100a1), which JaxMARL has for its second Overcooked
only. Each chef is paid the task reward of both and its own shaped reward, which is annealed. The
originals compile all their updates into one program and report each to wandb; here a program does a
few updates, so that learning can stop at a target, and nothing is reported. The learning rate of
the recurrent one stays, instead of rising and falling: that makes no difference to the speed.
"""

import importlib
import json
import statistics
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from cochef.benchmarks.peers.ippo_networks import (
    IppoCarry,
    IppoNetwork,
    IppoParams,
    feed_forward,
    recurrent,
)
from cochef.benchmarks.peers.jaxmarl import CHEFS, overcooked
from cochef.benchmarks.peers.service import EPISODES, LearningTime, serve
from cochef.errors import InputError

JaxmarlEnv = Any  # reset and step as in JaxMARL, with the info of its LogWrapper


@dataclass(frozen=True)
class IppoConfig:
    """The settings; by default those of the feed-forward original."""

    kitchens: int = 16
    steps: int = 128  # of a kitchen from one update to the next
    total_steps: int = 5_000_000  # of all kitchens; the learning rate falls to 0 over them
    shaping_steps: int = 2_500_000  # of all kitchens; the shaped reward fades out over them
    epochs: int = 4
    minibatches: int = 4
    learning_rate: float = 2.5e-4
    discount: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy_weight: float = 0.01
    value_weight: float = 0.5
    gradient_norm: float = 0.5
    anneals: bool = True  # the learning rate
    chunk: int = 4  # updates of one program, after which the returns are looked at

    @property
    def update_steps(self) -> int:
        """Steps of all kitchens from one update to the next."""
        return self.kitchens * self.steps

    def optimiser(self) -> optax.GradientTransformation:
        """Adam on clipped gradients; the learning rate changes once an update."""
        updates = self.total_steps // self.update_steps
        gradient_steps = self.epochs * self.minibatches  # of an update

        def rate(count: ArrayLike) -> Array:
            progress = jnp.asarray(count) // gradient_steps / updates
            return self.learning_rate * (1 - progress * self.anneals)

        clipping = optax.clip_by_global_norm(self.gradient_norm)
        return optax.chain(clipping, optax.adam(rate, eps=1e-5))


# A 32nd of the original's 256 kitchens and 64 minibatches: minibatches are as large as there, and
# an update takes a minute instead of half an hour on two cores, which are slow at convolutions.
RECURRENT = IppoConfig(
    kitchens=8,
    steps=256,
    total_steps=30_000_000,
    shaping_steps=15_000_000,
    minibatches=2,
    gradient_norm=0.25,
    anneals=False,
    chunk=1,
)


class RunnerState(NamedTuple):
    """All that an update changes."""

    params: IppoParams
    opt_state: optax.OptState
    env_states: Any
    observations: Mapping[str, Array]
    carry: IppoCarry
    episode_start: Bool[Array, " rows"]
    updates: Int[Array, ""]
    key: Key[Array, ""]


class IppoTransition(NamedTuple):
    """What the chefs of all kitchens observed, did and got; a rollout has time before rows."""

    observations: Shaped[Array, "..."]  # [time, rows, observation]
    episode_start: Bool[Array, "*T rows"]
    actions: Int[Array, "*T rows"]
    log_probs: Float[Array, "*T rows"]
    values: Float[Array, "*T rows"]
    rewards: Float[Array, "*T rows"]
    dones: Bool[Array, "*T rows"]


class FinishedEpisodes(NamedTuple):
    """Which kitchens' episodes ended, and the task return of the last that did."""

    dones: Bool[Array, "*T kitchens"]
    returns: Float[Array, "*T kitchens"]


class IPPO:
    """The algorithm in an environment, compiled."""

    def __init__(self, env: JaxmarlEnv, network: IppoNetwork, config: IppoConfig) -> None:
        """Compile it."""
        self._env = env
        self._network = network
        self._config = config
        self._optimiser = config.optimiser()
        begun = time.perf_counter()
        self._begin, self._proceed = self._compile()
        self._compile_seconds = time.perf_counter() - begun

    def rate(self, seconds: float) -> float:
        """Kitchen steps a second with all learning, over at least so many seconds."""
        runner = jax.block_until_ready(self._begin(jax.random.key(0)))
        calls = 0
        begun = time.perf_counter()
        while calls == 0 or time.perf_counter() - begun < seconds:
            runner, _ = jax.block_until_ready(self._proceed(runner))
            calls += 1
        return calls * self._chunk_steps / (time.perf_counter() - begun)

    def compile_seconds(self) -> float:
        """How long it takes to trace and compile all anew."""
        jax.clear_caches()
        begun = time.perf_counter()
        self._compile()
        return time.perf_counter() - begun

    def learn(self, seed: int, target: float, most: int) -> LearningTime:
        """Learn until the mean task return reaches the target, or the steps allowed are done."""
        if most < self._chunk_steps:
            raise InputError(
                f"at most {most} steps to learn; it takes at least {self._chunk_steps}"
            )
        returns: deque[float] = deque(maxlen=EPISODES)
        steps = 0
        mean = None
        reached = False
        begun = time.perf_counter()
        runner = self._begin(jax.random.key(seed))
        while not reached and steps + self._chunk_steps <= min(most, self._config.total_steps):
            runner, finished = self._proceed(runner)
            steps += self._chunk_steps
            returns.extend(np.asarray(finished.returns)[np.asarray(finished.dones)].tolist())
            mean = statistics.fmean(returns) if len(returns) == EPISODES else None
            reached = mean is not None and mean >= target
        seconds = time.perf_counter() - begun
        return LearningTime(reached, mean, steps, seconds, self._compile_seconds)

    @property
    def _chunk_steps(self) -> int:
        return self._config.chunk * self._config.update_steps

    def _compile(
        self,
    ) -> tuple[
        Callable[[Key[Array, ""]], RunnerState],
        Callable[[RunnerState], tuple[RunnerState, FinishedEpisodes]],
    ]:
        key = jax.random.key(0)
        begin = jax.jit(self._start).lower(key).compile()
        proceed = jax.jit(self._chunk).lower(jax.eval_shape(self._start, key)).compile()
        return begin, proceed

    def _start(self, key: Key[Array, ""]) -> RunnerState:
        key, key_network, key_envs = jax.random.split(key, 3)
        keys = jax.random.split(key_envs, self._config.kitchens)
        observations, env_states = jax.vmap(self._env.reset)(keys)
        rows = _rows(observations)
        params = self._network.init(key_network, rows)
        return RunnerState(
            params=params,
            opt_state=self._optimiser.init(params),
            env_states=env_states,
            observations=observations,
            carry=self._network.initial_carry(len(rows)),
            episode_start=jnp.zeros(len(rows), bool),
            updates=jnp.int32(0),
            key=key,
        )

    def _chunk(self, runner: RunnerState) -> tuple[RunnerState, FinishedEpisodes]:
        return jax.lax.scan(
            lambda runner, _: self._update(runner), runner, None, self._config.chunk
        )

    def _update(self, runner: RunnerState) -> tuple[RunnerState, FinishedEpisodes]:
        carry = runner.carry
        runner, (rollout, finished) = jax.lax.scan(
            lambda runner, _: self._env_step(runner), runner, None, self._config.steps
        )
        *_, last_values = self._apply_now(runner)
        advantages = self._advantages(rollout, last_values)
        batch = (rollout, advantages, advantages + rollout.values)
        if not self._network.is_recurrent:
            # All steps of all chefs are alike: one step of very many.
            batch = jax.tree.map(lambda leaf: leaf.reshape(1, -1, *leaf.shape[2:]), batch)
        # Chefs first, as minibatches are some of them.
        batch = (carry, jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1), batch))
        key, *keys = jax.random.split(runner.key, 1 + self._config.epochs)
        begin = (runner.params, runner.opt_state)
        (params, opt_state), _ = jax.lax.scan(
            lambda now, key: self._epoch(now, key, batch), begin, jnp.stack(keys)
        )
        runner = runner._replace(
            params=params, opt_state=opt_state, updates=runner.updates + 1, key=key
        )
        return runner, finished

    def _env_step(
        self, runner: RunnerState
    ) -> tuple[RunnerState, tuple[IppoTransition, FinishedEpisodes]]:
        key, key_act, key_step = jax.random.split(runner.key, 3)
        carry, logits, values = self._apply_now(runner)
        actions = jax.random.categorical(key_act, logits)
        observations, env_states, task_rewards, dones, info = jax.vmap(self._env.step)(
            jax.random.split(key_step, self._config.kitchens),
            runner.env_states,
            dict(zip(CHEFS, jnp.split(actions, len(CHEFS)), strict=True)),
        )
        annealed = runner.updates * self._config.update_steps / self._config.shaping_steps
        shaped_rewards = _rows(info["shaped_reward"]) * (1 - jnp.minimum(annealed, 1))
        transition = IppoTransition(
            observations=_rows(runner.observations),
            episode_start=runner.episode_start,
            actions=actions,
            log_probs=_log_probs(logits, actions),
            values=values,
            rewards=_rows(task_rewards) + shaped_rewards,
            dones=_rows(dones),
        )
        # Both chefs have the same task return, so the first one's is enough.
        finished = FinishedEpisodes(
            info["returned_episode"][:, 0], info["returned_episode_returns"][:, 0]
        )
        runner = runner._replace(
            env_states=env_states,
            observations=observations,
            carry=carry,
            episode_start=transition.dones,
            key=key,
        )
        return runner, (transition, finished)

    def _apply_now(
        self, runner: RunnerState
    ) -> tuple[IppoCarry, Float[Array, "rows actions"], Float[Array, " rows"]]:
        """The network's answer to what the chefs observe now."""
        carry, logits, values = self._network.apply(
            runner.params,
            runner.carry,
            _rows(runner.observations)[None],
            runner.episode_start[None],
        )
        return carry, logits[0], values[0]

    def _advantages(
        self, rollout: IppoTransition, last_values: Float[Array, " rows"]
    ) -> Float[Array, "T rows"]:
        discount = self._config.discount
        gae_lambda = self._config.gae_lambda

        def back(
            after: tuple[Array, Array], now: IppoTransition
        ) -> tuple[tuple[Array, Array], Array]:
            advantage, value = after
            goes_on = 1 - now.dones
            td_error = now.rewards + discount * value * goes_on - now.values
            advantage = td_error + discount * gae_lambda * goes_on * advantage
            return (advantage, now.values), advantage

        last = (jnp.zeros_like(last_values), last_values)
        return jax.lax.scan(back, last, rollout, reverse=True, unroll=16)[1]

    def _epoch(
        self,
        now: tuple[IppoParams, Any],
        key: Key[Array, ""],
        batch: Any,  # noqa: ANN401
    ) -> tuple[tuple[IppoParams, Any], None]:
        order = jax.random.permutation(key, len(jax.tree.leaves(batch[1])[0]))
        shuffled = jax.tree.map(lambda leaf: jnp.take(leaf, order, axis=0), batch)
        minibatches = jax.tree.map(
            lambda leaf: leaf.reshape(self._config.minibatches, -1, *leaf.shape[1:]), shuffled
        )

        def improve(
            now: tuple[IppoParams, Any],
            minibatch: Any,  # noqa: ANN401
        ) -> tuple[tuple[IppoParams, Any], None]:
            params, opt_state = now
            carry, sequences = minibatch
            time_first = jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1), sequences)
            gradients = jax.grad(self._loss)(params, carry, *time_first)
            updates, opt_state = self._optimiser.update(gradients, opt_state, params)
            return (optax.apply_updates(params, updates), opt_state), None

        return jax.lax.scan(improve, now, minibatches)

    def _loss(
        self,
        params: IppoParams,
        carry: IppoCarry,
        rollout: IppoTransition,
        advantages: Float[Array, "T rows"],
        targets: Float[Array, "T rows"],
    ) -> Float[Array, ""]:
        clip = self._config.clip
        _, logits, values = self._network.apply(
            params, carry, rollout.observations, rollout.episode_start
        )
        clipped = rollout.values + (values - rollout.values).clip(-clip, clip)
        value_loss = 0.5 * jnp.maximum((values - targets) ** 2, (clipped - targets) ** 2).mean()
        ratio = jnp.exp(_log_probs(logits, rollout.actions) - rollout.log_probs)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        clipped_ratio = ratio.clip(1 - clip, 1 + clip)
        actor_loss = -jnp.minimum(ratio * advantages, clipped_ratio * advantages).mean()
        entropy = -(jax.nn.softmax(logits) * jax.nn.log_softmax(logits)).sum(-1).mean()
        return (
            actor_loss
            + self._config.value_weight * value_loss
            - self._config.entropy_weight * entropy
        )


def main(rows: list[str], **_: object) -> None:
    """Serve measurements in this layout, always with the original's number of kitchens."""
    jax.config.update("jax_enable_compilation_cache", False)
    # The module of the wrapper also names two classes of gymnax, which is large and of no use here.
    spaces = ModuleType("gymnax.environments.spaces")
    vars(spaces).update(Box=object, Discrete=object)
    sys.modules[spaces.__name__] = spaces
    with warnings.catch_warnings(action="ignore"):
        wrappers = importlib.import_module("jaxmarl.wrappers.baselines")
    env = wrappers.LogWrapper(overcooked(rows))
    serve(
        {
            "JaxMARL's IPPO": IPPO(env, feed_forward(env.num_actions), IppoConfig()),
            "JaxMARL's recurrent IPPO": IPPO(env, recurrent(env.num_actions), RECURRENT),
        }
    )


def _rows(by_chef: Mapping[str, Array]) -> Shaped[Array, "rows ..."]:
    """The first chef of every kitchen, then the second of every kitchen."""
    return jnp.concatenate([by_chef[chef] for chef in CHEFS])


def _log_probs(
    logits: Float[Array, "*T rows actions"], actions: Int[Array, "*T rows"]
) -> Float[Array, "*T rows"]:
    taken = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], axis=-1)
    return taken[..., 0]


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
