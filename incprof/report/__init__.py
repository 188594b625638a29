"""Reports: results in, text out. No report knows where its input came from."""
