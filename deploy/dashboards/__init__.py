"""The dashboards as code, made into the JSON files that the chart ships: `python -m deploy.dashboards`.

Each dashboard is one module of what stands where: `fleet`, `group`, `monitor`. What they share, so that all look and
behave alike, is `parts`.
"""
