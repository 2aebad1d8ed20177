"""Experiments: what a run is asked, the steps in their order, and what is stored of it.

The one room that knows the files of a run folder and the TREC formats.
"""
