"""Resolve names in source files to the definitions they refer to; nothing is imported or run.

Sources in, references out: `resolver.Resolver` takes a repository's files and, for a span of lines of one of them,
gives the definitions that it uses. This room knows no benchmark, task or prompt.

`resolver` asks in order of trust: `scip`, then what reads the file's language (`definitions.Reader`): `python_names`
(`python_scopes` and `python_bindings` read a file, `python_modules` follow imports, `python_types` and `python_members`
infer) or `by_name`. That asks a language by `language_rules.LanguageRules`; a language is a file of `languages`.
"""
