"""The kitchen as an environment of other libraries: PettingZoo, Gymnasium and JaxMARL.

`pettingzoo` and `gymnasium` need the packages of the same names (pip install "cochef[envs]");
`jaxmarl` needs nothing but JAX. In all of them, the end of an episode at its horizon is a
truncation.
"""
