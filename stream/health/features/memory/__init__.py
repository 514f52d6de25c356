"""What is remembered of each row from tick to tick: where a group rests, how fast it reads, where it jumped."""
