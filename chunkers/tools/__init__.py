"""Judge a chunker without a model: conformance, sizes, statistics."""
