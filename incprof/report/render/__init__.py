"""Renderers of sections, tables and lanes (incprof/model/section.py): text, Markdown, CSV, HTML and JSON."""
