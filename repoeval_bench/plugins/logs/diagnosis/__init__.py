"""Known problems of a retrieval run: the numbers that show each one, and what to try."""
