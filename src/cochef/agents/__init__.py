"""Agents: everything that chooses actions for a chef."""
