"""Group state as pure functions of (state, what was read): no Spark, no clock, no I/O."""
