"""Measures over a run and qrels; pure functions."""
