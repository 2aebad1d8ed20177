"""The code of folders, checkouts, archives and packages: which of it is read, in which order, and what is left out.

Nothing of a source is run or imported. Skipped files are counted by rule.
"""
