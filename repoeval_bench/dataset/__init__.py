"""RepoEval as data: its sources, the hashes of its files, and how it is stored, read and put together.

Everything above this room sees a `Benchmark` of tasks and files. Only this room knows archives, levels, mirrors, wheels
and the index of hashes. RepoEval's own names are in `repoeval` alone.
"""
