"""Common causes: what several groups that became unhealthy together share. Pure, over columns of groups.

`search` has what groups share and their faults, and chooses the values that explain most unhealthy groups; `tracker`
decides which of them are shown, and has their texts.
"""
