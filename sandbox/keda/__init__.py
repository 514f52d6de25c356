"""What KEDA answers for a ScaledObject, by its own scale handler, scalers and formula."""
