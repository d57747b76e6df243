"""From settings to results: presets, runs, and what is made of them."""
