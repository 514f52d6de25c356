"""The configuration options: types, sources, validation and the generated reference page. One option is one field."""
