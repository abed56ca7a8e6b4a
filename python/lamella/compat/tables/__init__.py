"""Names of other frameworks, with what they are natively: the fronts, native hints and docs/ are made from these."""
