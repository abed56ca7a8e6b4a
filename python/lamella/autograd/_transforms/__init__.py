"""Derivatives as functions and checks of gradients: what :mod:`lamella.autograd` offers beside the tape itself."""
