"""Git: refs read without a subprocess, porcelain run as one, and the integration of a clone."""
