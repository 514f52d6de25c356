"""The types of the JSON responses of the HTTP API.

A row has the columns of its table in `exporters.readmodel` or `exporters.cluster.model` under the same names; a test
compares them. Times are RFC 3339 strings in UTC, durations are seconds, an unknown value is None (`null`).
"""
