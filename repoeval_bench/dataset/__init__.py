"""RepoEval as data: where it comes from, what its bytes must hash to, how it is stored, read and put together.

Everything above this room sees a `Benchmark` of tasks and files. That there are archives, levels, mirrors, wheels and
an index of hashes is known here and nowhere else; RepoEval's own names are in `repoeval` alone.
"""
