"""The first read of a topic: processes of their own fold it while the JVM boots."""
