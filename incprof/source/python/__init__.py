"""Python sources: functions and loops, and heartbeats in them."""
