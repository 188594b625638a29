"""States of nodes from their counters and their power: the letters of the paper, and states that know the noise."""
