"""Datasets of files: images, lines and tables."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from lamella.data import ArrowDataset, DataLoader, ImageFolder, TextLines


@pytest.fixture
def images(tmp_path, rng):
    """A folder of two classes, and its pixels by path."""
    image = pytest.importorskip("PIL.Image")
    pixels = {}
    for name in ("b/2.png", "a/1.png", "a/deep/0.PNG", "b/1.png"):
        pixels[name] = rng.integers(0, 256, (4, 5, 3), dtype=np.uint8)
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        image.fromarray(pixels[name]).save(tmp_path / name, format="png")
    (tmp_path / "a" / "notes.txt").write_text("no image")
    (tmp_path / "list.txt").write_text("no class")
    return tmp_path, pixels


@pytest.mark.parametrize("workers", [0, 2])
def test_a_folder_of_images(images, workers: int) -> None:
    root, pixels = images
    dataset = ImageFolder(root)
    assert dataset.classes == ["a", "b"] and dataset.class_to_idx == {"a": 0, "b": 1}
    assert dataset.targets == [0, 0, 1, 1] and len(dataset) == 4
    [(batch, classes)] = DataLoader(dataset, 4, num_workers=workers)
    assert classes.tolist() == [0, 0, 1, 1] and batch.dtype.name == "uint8"
    expected = [pixels[name].transpose(2, 0, 1) for name in ("a/1.png", "a/deep/0.PNG", "b/1.png", "b/2.png")]
    np.testing.assert_array_equal(batch.numpy(), np.stack(expected))


def test_transforms_get_images_and_classes(images) -> None:
    dataset = ImageFolder(images[0], lambda image: image.size, lambda number: -number)
    assert [dataset[i] for i in range(4)] == [((5, 4), 0), ((5, 4), 0), ((5, 4), -1), ((5, 4), -1)]


def test_folders_that_are_no_classes(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        ImageFolder(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="holds no folders"):
        ImageFolder(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="the class 'empty' has no images, which end in"):
        ImageFolder(tmp_path)


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"one", ["one"]),
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\r\n\r\nthree", ["one", "", "three"]),
        ("ä\nßx\n".encode(), ["ä", "ßx"]),
        (b"a\rb\x0bc\nd", ["a\rb\x0bc", "d"]),
    ],
)
def test_lines(tmp_path, raw: bytes, lines: list[str]) -> None:
    (tmp_path / "a.txt").write_bytes(raw)
    dataset = TextLines(tmp_path / "a.txt")
    for made in (dataset, copy.copy(dataset), copy.deepcopy(dataset), pickle.loads(pickle.dumps(dataset))):
        assert len(made) == len(lines) and [made[i] for i in range(len(made))] == lines
    assert [dataset[i - len(lines)] for i in range(len(lines))] == lines
    for index in (len(lines), -len(lines) - 1):
        with pytest.raises(IndexError, match=f"index {index} is out of range for {len(lines)} lines"):
            dataset[index]


def test_lines_in_batches(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(str(i) * 5 for i in range(7)))
    for workers in (0, 2):
        batches = list(DataLoader(TextLines(tmp_path / "a.txt", str.upper), 3, num_workers=workers))
        assert batches == [["00000", "11111", "22222"], ["33333", "44444", "55555"], ["66666"]]
    with pytest.raises(FileNotFoundError):
        TextLines(tmp_path / "b.txt")
    (tmp_path / "c.txt").write_bytes(b"a\n\xff\n")
    with pytest.raises(UnicodeDecodeError):
        TextLines(tmp_path / "c.txt")[1]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("shuffle", [False, True])
def test_arrow_tables(workers: int, shuffle: bool) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    columns = {"x": [0.5, 1.5, 2.5, 3.5, 4.5], "n": [0, 1, 2, 3, 4], "flag": [True, False] * 2 + [True]}
    table = pyarrow.table({**columns, "text": list("abcde"), "nulls": [1, None, 3, 4, 5]})
    chosen = ArrowDataset(table, [*columns, "text"])
    assert len(chosen) == 5 and chosen[-1] == {"x": 4.5, "n": 4, "flag": True, "text": "e"} == chosen[4]
    for batch in DataLoader(chosen, 2, shuffle=shuffle, num_workers=workers):
        assert batch["n"].dtype.name == "int64" and batch["flag"].dtype.name == "bool"
        numbers = batch["n"].tolist()
        assert batch["x"].tolist() == [columns["x"][n] for n in numbers]
        assert batch["flag"].tolist() == [columns["flag"][n] for n in numbers]
        assert batch["text"] == ["abcde"[n] for n in numbers]
    with pytest.raises(ValueError, match="the column 'nulls' has nulls"):
        list(DataLoader(table, 5))
    with pytest.raises(IndexError, match="index 5 is out of range for 5 rows"):
        chosen[5]
    with pytest.raises(KeyError):
        ArrowDataset(table, ["none"])
