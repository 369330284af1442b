"""Storage engines, all with one protocol."""
