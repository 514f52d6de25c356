"""The only package that imports pyspark: session, source, tasks, state processor, query and state reader."""
