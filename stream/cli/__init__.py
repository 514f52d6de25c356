"""The command line. Its commands start the service, request the HTTP API of a running instance, or read captures."""
