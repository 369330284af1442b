"""The use cases: open a workspace, start and find sessions, record, resume, recover, upkeep."""
