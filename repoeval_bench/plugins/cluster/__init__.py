"""Runs on more than one machine: jobs on a Ray cluster, runs of several folders, vectors that machines share."""
