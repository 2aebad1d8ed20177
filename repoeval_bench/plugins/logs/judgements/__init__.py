"""A second set of judgements beside the gold: what to judge, what its grades bound, and what the judge gets wrong."""
