"""A labelled recording of groups with and without faults, and the score of any monitor's verdicts on it.

Belongs here: the files of the recording and how they are written and read, the labels, and the scores. README.md says
how to use them.
"""
