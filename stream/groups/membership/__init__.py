"""Members, subscriptions and assignments of every kind of group."""
