"""Which definitions of a repository a piece of its code uses: names are resolved, nothing is imported or run.

`resolver` asks in order of trust: `scip`, then `python_names` (`python_scopes` and `python_bindings` read a file,
`python_modules` follow imports, `python_types` and `python_members` infer) or, for other languages, `by_name` with
`imports`.
"""
