"""The truth suite: runs whose phases and sites are known, and how well each method finds them (docs/truth.md)."""
