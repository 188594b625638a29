"""Live view of a running job."""
