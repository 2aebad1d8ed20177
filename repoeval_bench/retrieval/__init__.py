"""From queries and chunks to rankings: the corpus, every way to search it, and the one sort.

Knows how files become a corpus and how a retriever scores chunks; does not know what is
relevant or how it is measured.
"""
