"""The Grafana dashboards as code. `python -m deploy.dashboards` writes the JSON files that the chart contains.

One module per dashboard: `overview`, `group`, `monitor`. `parts` has what all of them share.
"""
