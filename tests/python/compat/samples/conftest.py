"""Nothing in this folder is collected: test_samples.py runs it."""

collect_ignore_glob = ["*.py"]
