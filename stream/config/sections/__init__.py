"""The sections of the configuration: one class per section, one field per option with default, unit and help text.

`stream.config.options` has all of them in one tree.
"""
