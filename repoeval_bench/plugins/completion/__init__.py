"""Completing the tasks of a stored run with a language model: prompts, answers, where they end, and what they score.

The result is a run folder of its own, with the ranking of the run that it completes and further measures. Python has
`complete` and `CompletionRequest` in `complete`.
"""
