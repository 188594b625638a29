"""The page on a run, and the page on two."""
