"""The OpenTelemetry collector of the tests, built from its Go modules."""
