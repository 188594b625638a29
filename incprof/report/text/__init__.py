"""Answers for people, in a terminal or a log."""
