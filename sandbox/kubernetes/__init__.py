"""A real Kubernetes control plane on loopback: API server, controller manager and etcd, without nodes.

Belongs here: what builds these programs, starts them, and asks them.
"""
