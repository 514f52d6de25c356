"""Rules about the members of a group: none, too few, or members that do not settle."""
