"""States of nodes from their counters and power: the letters of the paper, and states that account for noise."""
