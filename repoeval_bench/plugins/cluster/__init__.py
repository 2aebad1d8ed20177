"""Runs on more than one machine: jobs on a Ray cluster."""
