"""Real agent hosts, run offline against a fake model."""
