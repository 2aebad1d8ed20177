"""Judging a chunker without a model: conformance, sizes, statistics."""
