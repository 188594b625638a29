"""Start recordings. Standard library only."""
