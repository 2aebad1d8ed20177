"""Output for people: tables, plots and pages, made from stored runs and from what `analysis` says about them.

Only this room knows how a number is written and how a heading names a measure. It makes terminal text, Markdown, LaTeX,
CSV and HTML of one table. It reads runs through a `RunView`. Intervals and tests are those of `analysis`; a measure
that `eval` did not compute is scored by `metrics` from the stored ranking.
"""
