"""Sites in the user's source: the place of each, the cost of its heartbeat, and the edits to each file."""
