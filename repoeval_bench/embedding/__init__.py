"""Texts to vectors, and the cache that keeps them.

This room knows what a vector depends on: the model's files, its settings, the precision, the prompt and the text. It
makes each vector once, in a way that gives the same bits in any batch, and stores it with a checksum. Nothing
here knows what a text is: queries and chunks are roles, and another room ranks them.
"""
