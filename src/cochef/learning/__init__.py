"""How an agent improves."""
