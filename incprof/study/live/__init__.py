"""A job that is still running: its streams as they grow, and its phases so far."""
