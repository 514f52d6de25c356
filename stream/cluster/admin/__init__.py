"""Facts about the cluster that brokers report to administrators: quorum, reassignments, features."""
