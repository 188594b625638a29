"""The truth suite: runs with known phases and sites, and the scores of each method (docs/lab/truth.md)."""
