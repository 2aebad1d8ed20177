"""Texts to vectors, and the cache that keeps them.

This room knows what a vector depends on: the model's files, its settings, the precision, the prompt and the text. It
computes each vector once, with the same bits in any batch, and stores it with a checksum. Queries and chunks are only
roles here; another room ranks them.
"""
