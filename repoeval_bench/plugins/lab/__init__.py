"""The experiments of docs/findings.md: sensitivity, reproduced tables, stability, the leaderboard and its pages.

Python has `sensitivity` in `sensitivity`, `stability` in `stability`, `leaderboards` in `leaderboard`, `analyses` in
`analysis`, `add_run` in `adding`, `write_site` in `report.site`.
"""
