"""Pure functions: no files, clock, randomness or sockets. Whatever they need of the world is an argument."""
