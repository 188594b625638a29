"""One model over ranks: each rank is summarised, phases are found once, and all ranks are labelled with them.

docs/understand/ranks-and-mpi.md explains the whole.
"""
