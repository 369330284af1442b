"""Histories of concurrent clients, and a linearizability checker."""
