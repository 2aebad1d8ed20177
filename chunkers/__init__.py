"""Chunkers: one strategy per file, named in `registry`.

Only this room knows how source text is cut: by syntax trees, whole lines, separators, other people's libraries and
programs. It knows nothing of queries, gold or scores.
"""
