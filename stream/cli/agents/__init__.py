"""`lagwarden mcp`: answers to the questions of an agent, and the server over stdio. Every question only reads."""
