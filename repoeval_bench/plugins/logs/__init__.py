"""Logs of other systems: import, effects of their stages, missing judgements, and what is wrong with a run.

Python has `import_run` in `import_log`, `pipeline_report` in `pipeline.stages`, `hard_negatives` in
`pipeline.hard_negatives`, `pool` in `judgements.pooling`, `bounds` in `judgements.bounds`, `diagnose` in
`diagnosis`.
"""
