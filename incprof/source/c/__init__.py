"""C and C++: functions, loops, and heartbeats in them."""
