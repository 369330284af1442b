"""The files engine: streams as segments in plain text, at home in git."""
