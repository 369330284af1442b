"""Text generated from state: pure functions, the same bytes for the same commits."""
