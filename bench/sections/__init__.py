"""One module per section of the report. Each takes the settings and a folder, and returns plain data."""
