"""The offsets topic as tables: columns with their meaning, rows from records, and the files they are read from."""
