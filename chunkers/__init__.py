"""Chunkers: one strategy per file, named in `registry`.

The only room that knows how source text is cut: syntax trees, whole lines, separators, other people's libraries and
programs. It knows nothing of queries, gold or scores.
"""
