"""What KEDA computes from a ScaledObject, by the Go libraries that it uses."""
