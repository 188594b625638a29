"""Algorithms over interval profiles: pure functions, no files, no output. Same input and seed, same bytes."""
