"""Complete the tasks of a stored run with a language model: prompts, answers, their ends, and their scores.

The result is a run folder of its own, with the ranking of the run that it completes and further measures. Python has
`complete` and `CompletionRequest` in `complete`.
"""
