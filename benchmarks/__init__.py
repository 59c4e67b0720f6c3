"""What freshjit costs, always as a ratio to something else measured in the same run."""
