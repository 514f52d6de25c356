"""Sends the metrics of `/metrics` by OTLP over HTTP at an interval, on a thread of its own."""
