"""Who may use the HTTP server, and over which connections: TLS, users and tokens.

Reads a file in the web configuration format of Prometheus; the HTTP server applies it.
"""
