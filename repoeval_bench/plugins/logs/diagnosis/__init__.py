"""The known playbook for a retrieval run: what is wrong, by which numbers, and what to try."""
