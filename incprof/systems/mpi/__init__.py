"""MPI: traces of calls, phases of the communication, and predictions of the run time."""
