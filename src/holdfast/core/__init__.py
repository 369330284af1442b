"""The pure part: no files, no clock, no randomness, no sockets. What it needs of the world comes in as arguments."""
