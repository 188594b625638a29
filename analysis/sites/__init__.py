"""Where to put heartbeats: Algorithm 1 of the paper (section V-B), literally or repaired."""
