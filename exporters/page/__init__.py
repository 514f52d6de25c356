"""The HTML pages: `/` (`overview`) shows all groups, `/group?name=…` (`group`) one group.

HTML and CSS that need no script, and a small script that updates an open page, filters while the user types, and draws
the chart (`document` describes how). All files are served from this package; nothing is loaded from elsewhere.

Names from the cluster are arbitrary text. They stay text until they are written (`html_tree`); unprintable characters
are made visible (`exporters.wording`), and the writing direction of a name does not affect its surroundings (`ui`).
"""
