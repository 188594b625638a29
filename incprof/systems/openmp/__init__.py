"""OpenMP: the loops around parallel regions, their speedup, and estimates of the run time."""
