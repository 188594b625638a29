"""The signature of a traced run, and predictions from it (docs/use/signature.md)."""
