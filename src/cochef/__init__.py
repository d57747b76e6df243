"""CoChef trains and measures kitchen agents that cooperate with people nobody trained them for."""

__version__ = "0.1.0"
