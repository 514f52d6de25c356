"""The OpenAPI document of the HTTP API: a table of its operations, and the document made from it."""
