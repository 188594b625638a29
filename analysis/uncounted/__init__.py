"""What is known of calls that nobody has counted."""
