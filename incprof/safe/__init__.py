"""Read and write files that others may have written, or may be reading."""
