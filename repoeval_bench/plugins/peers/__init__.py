"""Chunkers of other people, and rules of indexers; `table` names them."""
