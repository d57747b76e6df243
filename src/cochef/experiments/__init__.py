"""Experiments: presets, the graph of jobs from training to a report, and what runs it."""
