"""Memberships: members, subscriptions and assignments of groups of every kind."""
