"""The metrics of `/metrics` as data points of OTLP, in the model of the OpenTelemetry SDK (the extra `otlp`)."""
