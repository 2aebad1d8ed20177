"""The meaning of stored runs: verdicts, segments, gates, findings.

It reads run views and computes. It opens no file of a run and prints nothing.
"""
