"""In the browser: play with agents, and run a study with people."""
