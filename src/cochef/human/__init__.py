"""Games that pairs of people played together, as arrays."""
