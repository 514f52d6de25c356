"""`lagwarden top`: the live table in a terminal."""
