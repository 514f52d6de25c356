"""The animated picture of the demo in the README: recorded from a real run, drawn as an SVG without scripts.

`python -m sandbox.demo.picture` runs the demo, which takes seven minutes, and writes `docs/pictures/demo.svg`.
"""
