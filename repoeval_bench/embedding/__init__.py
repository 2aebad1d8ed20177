"""Texts to vectors, and the cache that keeps them."""
