"""Answers as JSON, a schema each."""
