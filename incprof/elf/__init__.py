"""What can be said about a program from its ELF file alone, with nothing but the standard library."""
