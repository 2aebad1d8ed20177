"""The experiments of docs/findings.md: sensitivity, reproduced tables, stability, the leaderboard and its pages.

Python has `sensitivity` in `sensitivity`, `stability` in `stability`, `leaderboard` in `leaderboard`, `standings` in
`standings`, `add_run` in `adding`, `write_site` in `report.site`.
"""
