"""Files of traces (docs/reference/formats.md) and of signatures."""
