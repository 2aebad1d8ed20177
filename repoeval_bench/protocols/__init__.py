"""What is asked, what counts as an answer, and what may be seen.

Knows the protocols, the queries and gold they make of a task, the rules of relevance, and exclusion; knows nothing of
retrieval.
"""
