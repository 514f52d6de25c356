"""Generates the derived parts of the Helm chart (values schema, README table) and fetches the tools that check it.

The chart itself is in `deploy/helm`.
"""
