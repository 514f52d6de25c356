"""Common causes: what several groups that became unhealthy together share. Pure, over columns of groups.

`shared` has what groups share, `faults` has their faults, `search` chooses the values that explain most unhealthy
groups, `tracker` decides which findings are shown, `sentences` has the texts of findings.
"""
