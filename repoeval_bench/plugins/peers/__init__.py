"""Chunkers of other people, and rules of editors' indexers; `table` names them."""
