"""Importing this tells Gymnasium the environments of CoChef; `gymnasium.make` does so by itself.

gymnasium.make("cochef.envs:CoChef/cramped_room-v0", partner="script:onion_placement")
"""

from cochef.adapters.registration import register_environments

register_environments()
