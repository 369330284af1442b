"""Histories of concurrent clients, and the check that they are linearizable."""
