"""The kitchen as an environment of other libraries: Gymnasium, PettingZoo and JaxMARL.

`gymnasium`, `gymnasium_vector` and `pettingzoo` need the packages of those names (the extra
`envs`); `jaxmarl` needs nothing but JAX. In all of them, the end of an episode at its horizon is a
truncation.
"""
