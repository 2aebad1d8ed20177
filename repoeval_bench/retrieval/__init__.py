"""Queries to rankings; the one sort stands in `ranking`."""
