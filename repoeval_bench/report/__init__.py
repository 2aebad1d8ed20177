"""Output for people: tables, plots and pages, made from stored runs and from what `analysis` says about them.

Only this room knows how numbers are written and how headings name measures. It writes one table as terminal text,
Markdown, LaTeX, CSV or HTML. It reads runs through a `RunView`. Intervals and tests are those of `analysis`; a measure
that `eval` did not compute is scored by `metrics` from the stored ranking.
"""
