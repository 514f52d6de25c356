"""Groups with and without faults that run at the same time on one broker, and the verdicts that each must get.

Belongs here: the catalogue of scenarios, their runner, the record of a run, its assessment and the report.
"""
