"""Pages of HTML that need no network: the report of some runs, and the leaderboard of a folder.

This room knows what a page shows and how it is packed. Markup is in the templates; numbers come from `analysis` and the
stored runs.
"""
