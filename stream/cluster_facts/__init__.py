"""A slow poll of brokers, topics, configs and log directories, in a thread of its own."""
