"""Systems: each reads, analyses and reports one kind of data, and has its own verbs. None imports another."""
