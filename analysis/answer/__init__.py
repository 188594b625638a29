"""Build the answer for a run: its phases, with their sites, their steps and the cost of their heartbeats."""
