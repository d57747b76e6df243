"""Simulators and learners of others: each module is a program for an environment of its own."""
