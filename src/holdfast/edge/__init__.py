"""The edge: parses what comes in, calls one use case, renders, exits."""
