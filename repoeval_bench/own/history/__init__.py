"""Protocol `commits`: questions from a repository's own history, read from its git objects alone."""
