"""What the phases of a process read and write."""
