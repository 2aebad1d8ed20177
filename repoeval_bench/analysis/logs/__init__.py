"""What a retrieval team reads off a judged run log beside its scores: a pure function per section.

A section whose fields the log lacks says so in one line. Means are over queries, intervals resample clusters.
"""
