"""The pages for a person with a browser: `/` (`fleet`) shows the fleet, `/group?name=…` (`group`) one group.

HTML and CSS that are whole without a script, and a little script that keeps an open page fresh, filters as one types
and draws the chart (`document` says how). Everything is served from this package.

What comes from the cluster are names that somebody chose: they are text until they are written (`nodes`), characters
that do not print are made visible, and writing direction cannot leak out of a name (`words`).
"""
