"""What a person types or sees in a terminal. Asks the HTTP API of a running monitor, or starts the service."""
