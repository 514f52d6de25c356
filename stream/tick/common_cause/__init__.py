"""Common causes of a tick: what groups share by the metadata and the memberships, and the findings as tables."""
