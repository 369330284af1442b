"""Hooks of agent hosts."""
