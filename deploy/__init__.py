"""The container image, the Helm chart with rules and dashboards, and the scripts that generate parts of them."""
