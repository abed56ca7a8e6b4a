"""Lamella beside PyTorch on the samples of PyTorch's own database of operators: values, gradients, bad input.

`benchmarks/run opdb` runs it. It compares what `calls` can translate, and lists the rest.
"""
