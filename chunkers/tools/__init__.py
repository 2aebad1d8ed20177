"""Judging a chunker before any model is asked: conformance, sizes, statistics."""
