"""The login of a connection: TLS files, passwords, tokens and their renewal, SASL exchanges, refused tokens.

Everything is read again at each login, in a helper thread, because files and token endpoints may be slow.
"""
