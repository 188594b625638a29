"""One module per verb: NAME, a docstring that is its help, add_arguments(parser) and run(args) -> exit code."""
