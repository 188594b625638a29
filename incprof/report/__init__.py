"""Reports: results in, text out. No report depends on where its input came from."""
