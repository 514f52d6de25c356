"""The HTTP server: routes, JSON API, content negotiation, connections and streamed responses."""
