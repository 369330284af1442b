"""The index: a read model of every stream of a workspace, in one SQLite file with full-text search."""
