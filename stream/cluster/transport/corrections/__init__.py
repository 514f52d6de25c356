"""Corrections of kafka-python, one module each with its symptom; docs/upstream has the same as patches of the library.

Each patch that kafka-python accepts deletes a module here. No import replaces anything: subclasses in
`transport.exchange` have the corrections, and `decoder_threads.install` replaces the one method without a subclass.
"""
