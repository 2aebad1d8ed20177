"""What made docs/findings.md: sensitivity, reproduction of published tables, stability, the leaderboard and its pages.

Python has `sensitivity` in `sensitivity`, `stability` in `stability`, `leaderboard` in `leaderboard`, `standings` in
`standings`, `add_run` in `adding`, `write_site` in `report.site`.
"""
