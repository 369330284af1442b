"""The SQLite engine: one database file."""
