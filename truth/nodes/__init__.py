"""Nodes whose states, programs and power are known, and how well the methods of `incprof dna` find them."""
