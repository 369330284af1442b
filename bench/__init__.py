"""The benchmark: holdfast, the limits of the machine, and what a user would pick instead, in one run."""
