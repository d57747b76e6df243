"""Training: PPO of whole populations, behaviour cloning, and runs on disk.

Words: a member of a population is what is trained on its own, in games of its own: one policy in
self-play, a pair in HSP's first stage. Its learners are the actors and critics that it trains, one
or two. The two roles of a game (`roles`) say who plays; a role's seat is drawn for every episode. A
member's kitchens are its parallel environments. The rows of a learner are its kitchens, once for
each role that it plays. A carry is the recurrent state of a network.

To read, from the outside in: `runs` (training in a directory), `trainer` (what is compiled),
`iteration` (rollout, advantages, update), `collect`, `returns`, `ppo`.

For readers new to JAX: the axes of an array stand in its annotation, such as
`Float[Array, "time rows"]`. `jax.vmap(f)` applies f to every entry of the first axis at once,
`jax.lax.scan` is a loop over time, and `jax.tree.map(f, tree)` applies f to every array of a
dataclass, however deep (a pytree). A random number follows from a key, and each use has a key of
its own, by `split` or `fold_in`.
"""
