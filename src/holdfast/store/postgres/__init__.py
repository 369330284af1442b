"""The PostgreSQL engine: one schema of a database."""
