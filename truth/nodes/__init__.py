"""Nodes with known states, programs and power, and the scores of the methods of `incprof dna`."""
