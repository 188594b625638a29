"""States of nodes, learnt from samples of their counters and power."""
