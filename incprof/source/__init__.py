"""Source files: their functions and loops, and the heartbeats put into them and taken out again."""
