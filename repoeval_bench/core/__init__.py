"""The vocabulary of every room: spans, sources, chunks, tasks, runs, specs and the registry of parts, errors, files.

It knows what a thing is called and what it must offer; it imports nothing of ours and computes no result.
"""
