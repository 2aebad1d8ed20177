"""Runs on more than one machine: jobs on a Ray cluster, runs and vectors in a store that machines share."""
