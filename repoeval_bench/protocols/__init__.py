"""What is asked, what counts as an answer, and what may be seen.

Protocols, queries, gold, relevance, qrels and exclusion are here. Knows nothing of retrieval.
"""
