"""Loops around parallel regions: speedup and efficiency."""
