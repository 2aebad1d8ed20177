"""Settings in which one chunker beats another, published tables measured again, and a ranking of stored runs."""
