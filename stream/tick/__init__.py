"""What happens once per tick, in order: context, lookups, inputs, verdicts, snapshot."""
