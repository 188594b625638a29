"""One model over ranks: each rank tells what it is made of, phases are found once, and every rank is said in them.

docs/ranks-algorithm.md explains the whole.
"""
