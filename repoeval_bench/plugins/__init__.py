"""Leaves that ship with the tool. Each uses what docs/api.md promises, and only entry points lead to it.

A folder can be deleted with its entry points in pyproject.toml, and the tool goes on without what it brought.
"""
