"""Leaves that ship with the tool: each uses what docs/plug-ins.md promises, and nothing imports it but its entry points.

A folder can be deleted with its entry points in pyproject.toml, and the tool goes on without what it brought.
"""
