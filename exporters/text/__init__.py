"""The Prometheus text exposition, rendered once per snapshot."""
