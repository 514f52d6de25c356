"""Programs other than Kafka that the sandbox installs or starts: Prometheus, Alertmanager, Debian packages, a browser.

Belongs here: what finds, unpacks or starts a third-party program, and the install scripts of Makefile and CI.
"""
