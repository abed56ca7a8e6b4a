"""Weights and data that are the same wherever a program runs: they are numpy's."""

import zlib

import numpy as np
import torch


def rng(seed=0):
    """Returns a generator."""
    return np.random.default_rng(seed)


def fix(module, scale=0.2):
    """Fills parameters by their names and shapes, and returns the module."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            draw = np.random.default_rng(zlib.crc32(name.encode()))
            values = draw.standard_normal(tuple(parameter.shape)).astype("float32") * scale
            if parameter.dim() == 1 and ("norm" in name or "bn" in name) and name.endswith("weight"):
                values = 1 + 0.1 * values
            parameter.copy_(torch.from_numpy(np.asarray(values)))
    return module


def blobs(count, size, classes, seed=0):
    """Returns points around the centers of classes, and their classes."""
    draw = rng(seed)
    labels = draw.integers(0, classes, count)
    centers = draw.standard_normal((classes, size)) * 2
    points = centers[labels] + draw.standard_normal((count, size)) * 0.5
    return torch.from_numpy(points.astype("float32")), torch.from_numpy(labels)


def images(count, side, seed=0, channels=1):
    """Returns images with a bright square each, and masks of the squares."""
    draw = rng(seed)
    pictures = draw.standard_normal((count, channels, side, side)).astype("float32") * 0.1
    masks = np.zeros((count, 1, side, side), "float32")
    for number in range(count):
        top, left = draw.integers(0, side // 2, 2)
        pictures[number, :, top : top + side // 3, left : left + side // 3] += 1.0
        masks[number, :, top : top + side // 3, left : left + side // 3] = 1.0
    return torch.from_numpy(pictures), torch.from_numpy(masks)
