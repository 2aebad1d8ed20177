"""Which definitions of a repository a piece of its code uses: names are resolved, nothing is imported or run."""
