"""Experiments: presets, the graph of jobs from training to a report, and what runs it.

A stage is a piece of work with all its settings, such as the training of a population (`stages`). A
job is a stage with the jobs whose results are its inputs (`jobs`): it has a directory of its own in
a store, and an address, the checksum of all that decides its result. `pipeline` says which jobs a
method needs, and an engine does them: in this process (`engines`) or on a cluster (`ray_engine`).
"""
