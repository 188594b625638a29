"""Runs the command line as `python -m incprof`."""

from incprof.cli.main import main

# Ranks of MPI that do what the first one hands out import this under another name.
if __name__ == "__main__":
    raise SystemExit(main())
