"""From any code to a pack: a benchmark in RepoEval's layout, built by rule from folders, packages and archives.

Nothing of a source is run or imported. What is left out is counted by rule, and the same sources, version and seed give
the same bytes. What a pack's files are is in `dataset.pack`, which reads them back.
"""
