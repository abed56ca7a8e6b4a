"""What tests of several folders share; pytest finds it by `pythonpath` in pyproject.toml."""
