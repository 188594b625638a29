"""Source files: their functions and loops, and heartbeats inserted into and removed from them."""
