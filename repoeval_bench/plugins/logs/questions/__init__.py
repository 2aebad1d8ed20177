"""Questions and answers of other benchmarks: one file reads the format of each, and one writes them as this tool's own.

Users bring these files; none is stored here. What the formats say was read from the benchmarks' own repositories.
"""
