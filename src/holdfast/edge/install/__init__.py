"""Putting holdfast into the settings of agent hosts, and taking it out again, byte for byte."""
