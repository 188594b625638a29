"""A profile summed up for looking at it: over time, by call path, by rank, as tables."""
