"""The options: their types, sources, validation and generated reference. One option is one field."""
