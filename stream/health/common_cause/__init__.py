"""Common causes: what groups share that turned sick together. Pure, over columns of groups.

`shared` has what groups share, `faults` what is wrong with them, `search` chooses the values that explain most
sick groups, `tracker` decides which findings are shown, `sentences` words them.
"""
