"""Resolve names in source files to the definitions they refer to; nothing is imported or run.

Sources in, references out: `resolver.Resolver` takes a repository's files and, for a span of lines of one of them,
gives the definitions that it uses. This room knows no benchmark, task or prompt.

`resolver` tries `scip` first, then the reader of the file's language: `python_names` or `by_name`. For `python_names`,
`python_nodes` reads the syntax tree, `python_scopes` finds the names of each scope, `python_modules` follows imports,
`python_types` infers types, and `python_flow` chooses the bindings that hold at a place. `by_name` follows a language's
`language_rules.LanguageRules`; each language is a file of `languages` with a table beside it.
"""
