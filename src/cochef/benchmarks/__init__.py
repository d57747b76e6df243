"""How fast things are, next to what others built."""
