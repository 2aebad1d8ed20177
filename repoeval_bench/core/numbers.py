"""The whole numbers that a file may contain."""

EXACT = 2**53
"""The largest whole number that a file may contain: every program that reads JSON reads it exactly."""
