"""From queries and chunks to rankings: the corpus, every retriever, and the one sort.

This room knows how files become a corpus and how a retriever scores chunks. It does not know which chunks are relevant,
or the measures.
"""
