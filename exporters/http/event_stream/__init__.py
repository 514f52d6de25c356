"""Server-sent events of verdict changes: the recent events, and the response that streams them."""
