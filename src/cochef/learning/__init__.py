"""Training: PPO of whole populations, behaviour cloning, and runs on disk."""
