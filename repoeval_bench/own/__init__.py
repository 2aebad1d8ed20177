"""The wing for code of your own: its history becomes questions. The spine never imports it."""
