"""Lamella beside PyTorch and Paddle: the same work in each, timed in turns."""
