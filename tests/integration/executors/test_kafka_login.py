"""A login to Kafka on a standalone Spark cluster: executors read the password from its file, and Spark never has it."""
