"""Runs the command line as `python -m incprof`."""

from incprof.cli import main

raise SystemExit(main())
