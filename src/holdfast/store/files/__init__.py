"""The files engine: streams as plain-text segments, made for git."""
