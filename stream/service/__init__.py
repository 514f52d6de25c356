"""The long-running process: startup, supervision, tick loop, status and shutdown."""
