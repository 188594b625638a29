"""Analysis of a running job: phases are refitted as it grows, and keep their numbers."""
