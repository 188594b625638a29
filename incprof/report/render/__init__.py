"""Renderers of sections, tables and lanes (incprof/model/section.py): text and JSON.

CSV is in exports.py, HTML in page/html.py, Markdown in text/diff_text.py.
"""
