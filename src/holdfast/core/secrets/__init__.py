"""Secrets in text: signs, kinds, and the finder."""
