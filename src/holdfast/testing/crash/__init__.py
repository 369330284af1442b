"""The crash-consistency harness."""
