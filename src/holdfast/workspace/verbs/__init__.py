"""The commands of a session, grouped by concept. Each method is one rule of ``core.concepts``, committed."""
