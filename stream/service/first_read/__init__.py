"""The first read of a topic: processes of their own fold it before the JVM is started."""
