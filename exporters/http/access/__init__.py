"""Who may use the HTTP server, and over which connections: TLS, users and tokens."""
