"""Cases in PyTorch's words; each module adds its own to ``recording.CASES``."""
