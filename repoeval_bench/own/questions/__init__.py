"""Questions that code asks of itself: the first lines of docstrings, and what tests call."""
