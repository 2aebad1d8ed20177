"""Experiments: the request of a run, its steps in order, and its stored files.

The one room that knows the files of a run folder and the TREC formats.
"""
