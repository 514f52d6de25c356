"""A real Kafka on this machine, from jars: tests, benchmarks and the demo stand on it. Not part of the wheel."""
