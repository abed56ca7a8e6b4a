"""Paddle's transforms of images of Pillow, which are Pillow's, and of tensors, which have Paddle's numbers."""

from support import extensions

TESTS = r"""
import random

import numpy as np
import paddle
import pytest
from paddle.vision import transforms as T
from paddle.vision.transforms import functional as F
from PIL import Image, ImageEnhance, ImageOps

VALUES = np.random.default_rng(0).integers(0, 256, (17, 23, 3), dtype=np.uint8)
RGB = Image.fromarray(VALUES)
COUNT = np.arange(1, 21, dtype=np.float32).reshape(1, 4, 5)

OF_PILLOW = {
    "a size": (lambda x: F.resize(x, (8, 9), "lanczos"), lambda x: x.resize((9, 8), Image.Resampling.LANCZOS)),
    "a shorter side": (lambda x: F.resize(x, 11), lambda x: x.resize((14, 11), Image.Resampling.BILINEAR)),
    "its own size": (lambda x: F.resize(x, 17), lambda x: x),
    "a frame": (lambda x: F.pad(x, (1, 2, 3, 4), 100), lambda x: ImageOps.expand(x, (1, 2, 3, 4), 100)),
    "a turn": (
        lambda x: F.rotate(x, 30, "bicubic", True, fill=7),
        lambda x: x.rotate(30, Image.Resampling.BICUBIC, True, fillcolor=(7,) * len(x.getbands())),
    ),
    "a move": (
        lambda x: F.affine(x, 0, [2, -1], 1.0, 0.0),
        lambda x: x.transform(x.size, Image.Transform.AFFINE, (1, 0, -2, 0, 1, 1)),
    ),
    "gray": (lambda x: F.to_grayscale(x), lambda x: x.convert("L")),
    "brightness": (lambda x: F.adjust_brightness(x, 1.7), lambda x: ImageEnhance.Brightness(x).enhance(1.7)),
    "contrast": (lambda x: F.adjust_contrast(x, 0.3), lambda x: ImageEnhance.Contrast(x).enhance(0.3)),
    "saturation": (lambda x: F.adjust_saturation(x, 1.7), lambda x: ImageEnhance.Color(x).enhance(1.7)),
}


@pytest.mark.parametrize("case", OF_PILLOW)
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_images_of_pillow(case, mode):
    ours, pillows = OF_PILLOW[case]
    image = RGB.convert(mode)
    made = ours(image)
    assert isinstance(made, Image.Image)
    np.testing.assert_array_equal(np.asarray(made), np.asarray(pillows(image)))


def test_hues_turn_in_steps_of_eight_bits():
    hue, saturation, value = RGB.convert("HSV").split()
    turned = Image.fromarray(np.asarray(hue) + np.uint8(256 - 51))
    want = Image.merge("HSV", (turned, saturation, value)).convert("RGB")
    np.testing.assert_array_equal(np.asarray(F.adjust_hue(RGB, -0.2)), np.asarray(want))
    assert F.adjust_hue(RGB.convert("L"), 0.2) == RGB.convert("L")


@pytest.mark.parametrize(
    ("angle", "interpolation", "expand", "want"),
    [
        (0, "bilinear", True, [[0.25, 1.5, 2.5, 3.5, 4.5, 1.25], [1.5, 6.5, 7.5, 8.5, 9.5, 2.5]]),
        (90, "nearest", True, [[5, 10, 15, 20], [5, 10, 15, 20], [3, 8, 13, 18], [3, 8, 13, 18]]),
        (90, "bilinear", False, [[1.125, 7, 12, 17, 4.875], [0.875, 6, 11, 16, 4.625]]),
        (30, "bilinear", False, [[0.08, 1.42, 4.75, 8.12, 2.95], [1.85, 5.22, 8.58, 11.95, 15.32]]),
        (30, "nearest", True, [[0, 0, 0, 0, 5, 0, 0, 0], [0, 0, 0, 3, 4, 10, 0, 0], [0, 1, 2, 8, 9, 15, 15, 0]]),
    ],
)
def test_tensors_that_are_turned(angle, interpolation, expand, want):
    made = F.rotate(paddle.to_tensor(COUNT), angle, interpolation, expand).numpy()[0]
    np.testing.assert_allclose(made[: len(want)], want, atol=6e-3)


def test_arrays_mix_with_what_fills():
    turned = F.rotate(np.full((4, 5), 8.0, np.float32), 0, "bilinear", True)
    np.testing.assert_array_equal(turned, [[4, 8, 8, 8, 8, 4]] * 4)
    np.testing.assert_array_equal(F.rotate(VALUES, 0, "bilinear"), VALUES)


def test_tensors_are_blended_and_cut():
    x = paddle.to_tensor([[[0.5, 0.9]], [[0.1, 0.2]], [[0.3, 0.4]]])
    gray = 0.2989 * np.array([0.5, 0.9]) + 0.587 * np.array([0.1, 0.2]) + 0.114 * np.array([0.3, 0.4])
    np.testing.assert_allclose(F.to_grayscale(x, 3).numpy()[2, 0], gray, rtol=1e-6)
    np.testing.assert_allclose(F.adjust_brightness(x, 1.7).numpy()[0, 0], [0.85, 1.0], rtol=1e-6)
    np.testing.assert_allclose(
        F.adjust_saturation(x, 0.3).numpy()[1, 0], gray * 0.7 + np.array([0.03, 0.06]), rtol=1e-5
    )
    np.testing.assert_allclose(F.adjust_contrast(x, 0.0).numpy(), np.full((3, 1, 2), gray.mean()), rtol=1e-5)
    assert F.to_tensor(x) is x
    assert T.Transpose()(x).shape == [2, 3, 1]


def test_draws_are_those_of_paddle():
    np.random.seed(3)
    random.seed(3)
    made = T.RandomResizedCrop(8)(VALUES)
    np.random.seed(3)
    random.seed(3)
    area, proportion = 17 * 23 * np.random.uniform(0.08, 1), np.exp(np.random.uniform(np.log(3 / 4), np.log(4 / 3)))
    rows, columns = round((area / proportion) ** 0.5), round((area * proportion) ** 0.5)
    top, left = random.randint(0, 17 - rows), random.randint(0, 23 - columns)
    np.testing.assert_array_equal(made, F.resize(VALUES[top : top + rows, left : left + columns], (8, 8)))


@pytest.mark.parametrize("value", [0, [1, 2, 3], None])
@pytest.mark.parametrize("kind", ["image", "array", "tensor"])
def test_what_is_erased_stays_what_it_is(kind, value):
    image = {"image": RGB, "array": VALUES, "tensor": paddle.to_tensor(VALUES.transpose(2, 0, 1))}[kind]
    made = T.RandomErasing(1.0, value=value)(image)
    assert type(made) is type(image) and np.asarray(made).shape == np.asarray(image).shape
    assert np.any(np.asarray(made) != np.asarray(image))


def test_normalized_images_are_arrays():
    made = T.Normalize([10, 20, 30], [2, 4, 5], "HWC")(RGB)
    np.testing.assert_allclose(made, (VALUES - np.array([10.0, 20.0, 30.0])) / [2, 4, 5], rtol=1e-6)


def test_unknown_interpolations():
    for image, function in [(RGB, F.resize), (VALUES, F.resize)]:
        with pytest.raises(ValueError, match=r"\[resize\] interpolation is one of nearest, .* not 'area2'"):
            function(image, 5, "area2")
    with pytest.raises(ValueError, match=r"\[to_grayscale\] num_output_channels is 1 or 3, not 2"):
        F.to_grayscale(RGB, 2)
"""


def test_transforms(tmp_path):
    extensions.write(tmp_path, {"test_images.py": TESTS})
    extensions.succeed("-m", "lamella.compat", "-m", "pytest", "-q", "test_images.py", cwd=tmp_path)
