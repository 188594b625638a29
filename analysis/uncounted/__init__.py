"""Estimate calls that were not counted, from samples and machine code."""
