"""What threads wait for, by cause and call path, from samples of blocked threads."""
