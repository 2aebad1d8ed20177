"""From any code to a pack: a benchmark in RepoEval's layout, built by rule from folders, packages and archives.

Nothing of a source is run or imported. Skipped files are counted by rule, and the same sources, version and seed give
the same bytes. `dataset.pack` describes a pack's files and reads them back.
"""
