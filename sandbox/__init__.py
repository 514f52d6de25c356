"""A real Kafka on this machine, its clients and other programs, for tests, benchmarks and the demo. Not in the wheel.

Belongs here: helpers that every package of the sandbox uses and that import none of them, and the commands of Makefile.
"""
