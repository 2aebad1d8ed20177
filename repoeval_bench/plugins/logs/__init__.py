"""Logs of other systems: import, effects of their stages, missing judgements, and what is wrong with a run.

Python has `import_run` in `import_log`, `pipeline_report` and `hard_negatives` in `pipeline`, `pool` and `bounds` in
`judgements`, `diagnose` in `diagnosis`. Each file ends with its commands.
"""
