"""gmon.out files: their records, and directories of them."""
