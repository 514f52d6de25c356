"""The documentation as a site: the Markdown files of the repository, in an order for readers, with a search.

The files are written for the forge, where they are read as well. `python -m deploy.site` copies them with the few
changes that the generator needs, and runs it.
"""
