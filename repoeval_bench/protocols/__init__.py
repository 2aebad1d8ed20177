"""Protocols: queries, gold, relevance, and what a query may see.

This room turns tasks into queries and gold, and says which chunks are relevant and which are excluded. It knows nothing
of retrieval.
"""
