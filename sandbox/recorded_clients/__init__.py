"""Real clients of other libraries, whose records of the offsets topic are captures in `tests/captures/clients`.

Belongs here: one program per language, the table of clients, the command that records them, and the page of what they
write (`docs/clients.md`).
"""
