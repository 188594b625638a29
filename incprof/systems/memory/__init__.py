"""What phases allocate, free and keep: recorded by libincprof_memory.so (docs/reference/formats.md, kind 10)."""
