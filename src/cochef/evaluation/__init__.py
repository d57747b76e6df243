"""Measuring how well agents cooperate."""
