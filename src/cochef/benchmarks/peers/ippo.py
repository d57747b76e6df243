"""JaxMARL's feed-forward IPPO on its own Overcooked, with its own defaults.

The package comes without its baselines, so the algorithm is written anew after `baselines/IPPO/ippo_ff_overcooked.py`
(FLAIROx/JaxMARL, 428e054) and `config/ippo_ff_overcooked.yaml` (977191a): one actor and one critic of 2 x 64 tanh units
for both chefs, on the flattened planes. Each chef is paid the task reward of both and its own shaping, which is
annealed. The original compiles all its updates into one program and reports each to wandb; here a program does a few
updates, so that learning can stop at a target, and nothing is reported.
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

from cochef.benchmarks.peers.jaxmarl import CHEFS, overcooked
from cochef.benchmarks.peers.service import EPISODES, Learnt, serve
from cochef.errors import InputError

CHUNK = 4  # updates of one program, after which the returns are looked at

Weights = Any  # a tree of arrays
Game = Any  # reset and step as in JaxMARL, with what its LogWrapper tells


@dataclass(frozen=True)
class Settings:
    """The defaults of the original."""

    kitchens: int = 16
    steps: int = 128  # of a kitchen from one update to the next
    total_steps: int = 5_000_000  # of all kitchens; the learning rate falls to 0 over them
    shaping_steps: int = 2_500_000  # of all kitchens; the weight of the shaping falls from 1 to 0 over them
    epochs: int = 4
    minibatches: int = 4
    learning_rate: float = 2.5e-4
    discount: float = 0.99
    trace: float = 0.95  # lambda of the generalised advantage estimate
    clip: float = 0.2
    entropy_weight: float = 0.01
    value_weight: float = 0.5
    gradient_norm: float = 0.5

    @property
    def update_steps(self) -> int:
        """Steps of all kitchens from one update to the next."""
        return self.kitchens * self.steps

    def optimiser(self) -> optax.GradientTransformation:
        """Adam on clipped gradients; the learning rate changes once an update."""
        updates = self.total_steps // self.update_steps

        def rate(count: ArrayLike) -> Array:
            return self.learning_rate * (1 - jnp.asarray(count) // (self.epochs * self.minibatches) / updates)

        return optax.chain(optax.clip_by_global_norm(self.gradient_norm), optax.adam(rate, eps=1e-5))


@dataclass(frozen=True)
class Network:
    """How its weights begin, and how views become the logits of actions and values."""

    init: Callable[[Key[Array, ""], Shaped[Array, " view"]], Weights]
    apply: Callable[[Weights, Shaped[Array, "rows view"]], tuple[Float[Array, "rows actions"], Float[Array, " rows"]]]


class Learner(NamedTuple):
    """All that an update changes."""

    weights: Weights
    optimiser: optax.OptState
    games: Any
    views: Mapping[str, Array]
    updates: Int[Array, ""]
    key: Key[Array, ""]


class Experience(NamedTuple):
    """What the chefs of all kitchens saw, did and got; collected, it has time before rows."""

    views: Shaped[Array, "*T rows view"]
    actions: Int[Array, "*T rows"]
    likelihoods: Float[Array, "*T rows"]
    values: Float[Array, "*T rows"]
    rewards: Float[Array, "*T rows"]
    overs: Bool[Array, "*T rows"]


class Ended(NamedTuple):
    """Which kitchens' episodes ended, and the task return of the last that did."""

    overs: Bool[Array, "*T kitchens"]
    returns: Float[Array, "*T kitchens"]


class IPPO:
    """The algorithm in a game, compiled."""

    def __init__(self, game: Game, network: Network, settings: Settings) -> None:
        """Ready to be measured."""
        self._game, self._network, self._settings = game, network, settings
        self._optimiser = settings.optimiser()
        begun = time.perf_counter()
        self._begin, self._proceed = self._compile()
        self._compile_seconds = time.perf_counter() - begun

    def rate(self, seconds: float) -> float:
        """Kitchen steps a second with all learning, over at least so many seconds."""
        learner = jax.block_until_ready(self._begin(jax.random.key(0)))
        calls, begun = 0, time.perf_counter()
        while calls == 0 or time.perf_counter() - begun < seconds:
            learner, _ = jax.block_until_ready(self._proceed(learner))
            calls += 1
        return calls * self._chunk_steps / (time.perf_counter() - begun)

    def compile_seconds(self) -> float:
        """How long it takes to trace and compile all anew."""
        jax.clear_caches()
        begun = time.perf_counter()
        self._compile()
        return time.perf_counter() - begun

    def learn(self, seed: int, target: float, most: int) -> Learnt:
        """Learn until the mean task return reaches the target, or until so many steps or the total are done."""
        if most < self._chunk_steps:
            raise InputError(f"at most {most} steps to learn; it takes at least {self._chunk_steps}")
        returns: deque[float] = deque(maxlen=EPISODES)
        begun = time.perf_counter()
        learner, steps, mean, reached = self._begin(jax.random.key(seed)), 0, None, False
        while not reached and steps + self._chunk_steps <= min(most, self._settings.total_steps):
            learner, ended = self._proceed(learner)
            steps += self._chunk_steps
            returns.extend(np.asarray(ended.returns)[np.asarray(ended.overs)].tolist())
            mean = statistics.fmean(returns) if len(returns) == EPISODES else None
            reached = mean is not None and mean >= target
        return Learnt(reached, mean, steps, time.perf_counter() - begun, self._compile_seconds)

    @property
    def _chunk_steps(self) -> int:
        return CHUNK * self._settings.update_steps

    def _compile(self) -> tuple[Callable[[Key[Array, ""]], Learner], Callable[[Learner], tuple[Learner, Ended]]]:
        begin = jax.jit(self._start).lower(jax.random.key(0)).compile()
        proceed = jax.jit(self._chunk).lower(jax.eval_shape(self._start, jax.random.key(0))).compile()
        return begin, proceed

    def _start(self, key: Key[Array, ""]) -> Learner:
        key, key_network, key_games = jax.random.split(key, 3)
        views, games = jax.vmap(self._game.reset)(jax.random.split(key_games, self._settings.kitchens))
        weights = self._network.init(key_network, _flat(views)[0])
        return Learner(weights, self._optimiser.init(weights), games, views, jnp.int32(0), key)

    def _chunk(self, learner: Learner) -> tuple[Learner, Ended]:
        return jax.lax.scan(lambda learner, _: self._update(learner), learner, None, CHUNK)

    def _update(self, learner: Learner) -> tuple[Learner, Ended]:
        tick, steps = (lambda learner, _: self._tick(learner)), self._settings.steps
        learner, (experience, ended) = jax.lax.scan(tick, learner, None, steps)
        _, last_values = self._network.apply(learner.weights, _flat(learner.views))
        advantages = self._advantages(experience, last_values)
        batch = (experience, advantages, advantages + experience.values)
        batch = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), batch)
        key, *keys = jax.random.split(learner.key, 1 + self._settings.epochs)
        begin = (learner.weights, learner.optimiser)
        (weights, optimiser), _ = jax.lax.scan(lambda now, key: self._epoch(now, key, batch), begin, jnp.stack(keys))
        learner = learner._replace(weights=weights, optimiser=optimiser, updates=learner.updates + 1, key=key)
        return learner, ended

    def _tick(self, learner: Learner) -> tuple[Learner, tuple[Experience, Ended]]:
        key, key_act, key_step = jax.random.split(learner.key, 3)
        seen = _flat(learner.views)
        logits, values = self._network.apply(learner.weights, seen)
        actions = jax.random.categorical(key_act, logits)
        views, games, rewards, overs, told = jax.vmap(self._game.step)(
            jax.random.split(key_step, self._settings.kitchens),
            learner.games,
            dict(zip(CHEFS, jnp.split(actions, len(CHEFS)), strict=True)),
        )
        done = learner.updates * self._settings.update_steps / self._settings.shaping_steps
        paid = _rows(rewards) + _rows(told["shaped_reward"]) * (1 - jnp.minimum(done, 1))
        likelihoods = _likelihoods(logits, actions)
        experience = Experience(seen, actions, likelihoods, values, paid, _rows(overs))
        ended = Ended(told["returned_episode"][:, 0], told["returned_episode_returns"][:, 0])
        return learner._replace(games=games, views=views, key=key), (experience, ended)

    def _advantages(self, experience: Experience, last_values: Float[Array, " rows"]) -> Float[Array, "T rows"]:
        discount, trace = self._settings.discount, self._settings.trace

        def back(after: tuple[Array, Array], now: Experience) -> tuple[tuple[Array, Array], Array]:
            advantage, value = after
            goes_on = 1 - now.overs
            surprise = now.rewards + discount * value * goes_on - now.values
            advantage = surprise + discount * trace * goes_on * advantage
            return (advantage, now.values), advantage

        last = (jnp.zeros_like(last_values), last_values)
        return jax.lax.scan(back, last, experience, reverse=True, unroll=16)[1]

    def _epoch(self, now: tuple[Weights, Any], key: Key[Array, ""], batch: Any) -> tuple[tuple[Weights, Any], None]:  # noqa: ANN401
        order = jax.random.permutation(key, len(batch[1]))
        shuffled = jax.tree.map(lambda leaf: jnp.take(leaf, order, axis=0), batch)
        parts = jax.tree.map(lambda leaf: leaf.reshape(self._settings.minibatches, -1, *leaf.shape[1:]), shuffled)

        def improve(now: tuple[Weights, Any], part: Any) -> tuple[tuple[Weights, Any], None]:  # noqa: ANN401
            weights, optimiser = now
            changes, optimiser = self._optimiser.update(jax.grad(self._loss)(weights, *part), optimiser, weights)
            return (optax.apply_updates(weights, changes), optimiser), None

        return jax.lax.scan(improve, now, parts)

    def _loss(
        self,
        weights: Weights,
        experience: Experience,
        advantages: Float[Array, " rows"],
        targets: Float[Array, " rows"],
    ) -> Float[Array, ""]:
        clip = self._settings.clip
        logits, values = self._network.apply(weights, experience.views)
        near = experience.values + (values - experience.values).clip(-clip, clip)
        value_loss = 0.5 * jnp.maximum((values - targets) ** 2, (near - targets) ** 2).mean()
        ratio = jnp.exp(_likelihoods(logits, experience.actions) - experience.likelihoods)
        gains = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        actor_loss = -jnp.minimum(ratio * gains, ratio.clip(1 - clip, 1 + clip) * gains).mean()
        entropy = -(jax.nn.softmax(logits) * jax.nn.log_softmax(logits)).sum(-1).mean()
        return actor_loss + self._settings.value_weight * value_loss - self._settings.entropy_weight * entropy


def main(rows: list[str], **_: object) -> None:
    """Measure it in this kitchen, always with its own number of kitchens."""
    jax.config.update("jax_enable_compilation_cache", False)
    # The module of the wrapper also names two classes of gymnax, which is large and of no use here.
    spaces = ModuleType("gymnax.environments.spaces")
    vars(spaces).update(Box=object, Discrete=object)
    sys.modules[spaces.__name__] = spaces
    with warnings.catch_warnings(action="ignore"):
        wrappers = importlib.import_module("jaxmarl.wrappers.baselines")
    game = wrappers.LogWrapper(overcooked(rows))
    serve({"JaxMARL's IPPO": IPPO(game, _network(game.num_actions), Settings())})


def _network(actions: int) -> Network:
    """The original's: an actor and a critic apart, with orthogonal weights and no bias to begin with."""
    linen = importlib.import_module("flax.linen")

    def layers(outputs: int, last_scale: float) -> Any:  # noqa: ANN401
        sizes = ((64, np.sqrt(2)), (64, np.sqrt(2)), (outputs, last_scale))
        first, second, last = (linen.Dense(n, kernel_init=jax.nn.initializers.orthogonal(scale)) for n, scale in sizes)
        return linen.Sequential([first, linen.tanh, second, linen.tanh, last])

    actor, critic = layers(actions, 0.01), layers(1, 1.0)

    def init(key: Key[Array, ""], view: Shaped[Array, " view"]) -> Weights:
        key_actor, key_critic = jax.random.split(key)
        return actor.init(key_actor, view), critic.init(key_critic, view)

    def apply(weights: Weights, views: Shaped[Array, "rows view"]) -> tuple[Array, Array]:
        return actor.apply(weights[0], views), critic.apply(weights[1], views)[:, 0]

    return Network(init, apply)


def _rows(by_chef: Mapping[str, Array]) -> Shaped[Array, "rows ..."]:
    """The first chef of every kitchen, then the second of every kitchen."""
    return jnp.concatenate([by_chef[chef] for chef in CHEFS])


def _flat(views: Mapping[str, Array]) -> Shaped[Array, "rows view"]:
    rows = _rows(views)
    return rows.reshape(len(rows), -1)


def _likelihoods(logits: Float[Array, "rows actions"], actions: Int[Array, " rows"]) -> Float[Array, " rows"]:
    """The logarithm of how likely each action was."""
    return jnp.take_along_axis(jax.nn.log_softmax(logits), actions[:, None], axis=1)[:, 0]


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
