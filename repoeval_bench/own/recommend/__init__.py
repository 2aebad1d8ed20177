"""The chunker and size to use for some code: questions, candidates, costs, retrievers, and the answer."""
