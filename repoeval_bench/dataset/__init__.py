"""Reading RepoEval: task files, repository trees, and where they come from."""
