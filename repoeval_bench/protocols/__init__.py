"""Protocols: queries, gold, relevance, and what a query may see.

Knows the protocols, the queries and gold they make of a task, the rules of relevance, and exclusion; knows nothing of
retrieval.
"""
