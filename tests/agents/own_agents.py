"""Own agents of the tests: each is a class that is made for a layout, as MODULE:FACTORY asks."""

import time

import jax.numpy as jnp
import numpy as np


class Walker:
    """Walks in circles: its recurrent state counts its steps."""

    observes = "compact"

    def __init__(self, layout):
        self.layout = layout

    def begin(self, kitchens):
        return {"steps": np.zeros(kitchens, np.int32)}

    def act(self, observations, carry):
        assert observations.dtype == np.uint8
        return carry["steps"] % 4, {"steps": carry["steps"] + 1}


class JaxWalker(Walker):
    """The same in JAX, as a part of compiled programs."""

    compiled = True

    def act(self, observations, carry):
        return carry["steps"] % 4, {"steps": carry["steps"] + 1}


class Undecided:
    """Gives probabilities: two actions, equally likely."""

    observes = "grid"

    def __init__(self, layout):
        self.shape = (layout.height, layout.width, 26)

    def act(self, observations):
        assert observations.shape[1:] == self.shape
        return np.tile([0.5, 0.5, 0, 0, 0, 0], (len(observations), 1))


class JaxUndecided(Undecided):
    compiled = True

    def act(self, observations):
        return jnp.tile(jnp.array([0.5, 0.5, 0, 0, 0, 0]), (len(observations), 1))


class StateReader:
    """Does what its own cell says, which is that of chef 0 in the state it is given."""

    observes = "state"

    def __init__(self, layout):
        pass

    def act(self, states):
        return states.chefs.cell[:, 0] % 6


class FeatureReader(Undecided):
    observes = "features"

    def __init__(self, layout):
        self.shape = (96,)


class Faulty:
    """Stays for some calls, and then does what the tests want it to."""

    observes = "compact"
    calls_before = 20

    def __init__(self, layout):
        self.calls = 0

    def act(self, observations):
        self.calls += 1
        if self.calls <= self.calls_before:
            return np.full(len(observations), 4)
        return self.fail(len(observations))

    def fail(self, kitchens):
        raise KeyError("no onion")


class OutOfRange(Faulty):
    def fail(self, kitchens):
        return np.full(kitchens, 6)


class WrongShape(Faulty):
    def fail(self, kitchens):
        return np.zeros((kitchens, 2), int)


class NotANumber(Faulty):
    def fail(self, kitchens):
        return np.full((kitchens, 6), np.nan)


class Silent(Faulty):
    def fail(self, kitchens):
        time.sleep(3600)


class Forgetful(Walker):
    """Returns no recurrent state."""

    def act(self, observations, carry):
        return carry["steps"] % 4


def unmade(layout):
    raise RuntimeError(f"no weights for {layout.name}")


def unfinished(layout):
    time.sleep(3600)


def nothing(layout):
    return None
