"""Properties of a program from its ELF file alone, with the standard library only."""
