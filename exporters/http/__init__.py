"""The HTTP server: routes, API answers, content negotiation, connections and streamed bodies."""
