"""Secret scanning: a quick pre-check (signs), the rules (kinds), and the scanner (finder)."""
