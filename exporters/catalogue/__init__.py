"""Every metric as one row: name, type, labels, help, and the column it reads."""
