"""The vocabulary of every room: spans, sources, chunks, tasks, runs, specs and the registry of parts, errors, files.

It defines names and interfaces. It imports no other room and computes no result.
"""
