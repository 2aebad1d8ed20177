"""Chunkers: one strategy per file, found through `registry`."""
