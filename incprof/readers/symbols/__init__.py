"""What binaries say of addresses: functions, lines, loops, inlined functions."""
