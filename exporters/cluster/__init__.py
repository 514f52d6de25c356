"""Facts about the cluster: model, exposition and API."""
