"""Answers as JSON, one schema each."""
