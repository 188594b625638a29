"""Sites in the user's source: where each is, what its heartbeat costs, what goes into which file."""
