"""Data sets and loaders that the paddle front refuses, as Paddle does, where they would give other examples."""

from support import extensions

PROGRAM = """
import numpy as np
from paddle.io import BatchSampler, ChainDataset, ComposeDataset, DataLoader, Dataset, IterableDataset


class Rows(Dataset):
    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        return np.full(2, index, "float32")  # of any number: a loop over it would not end

    def __len__(self):
        return self.count


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(3))


def refused(make, text):
    try:
        make()
    except ValueError as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)


rows = Rows(4)
refused(lambda: ComposeDataset([rows, Rows(3)]), "one length, got [4, 3]")
refused(lambda: ComposeDataset([rows, Stream()]), "datasets[1] is a stream")
refused(lambda: ChainDataset([Stream(), rows]), "datasets[1] is Rows, no IterableDataset")
for option in ({"batch_size": 2}, {"shuffle": True}, {"drop_last": True}):
    refused(lambda: DataLoader(rows, batch_sampler=BatchSampler(rows, batch_size=2), **option), "leave out batch_size")
assert list(ChainDataset([Stream(), Stream()])) == [0, 1, 2, 0, 1, 2] and len(ComposeDataset([rows, Rows(4)])) == 4
assert [len(batch[0]) for batch in DataLoader(rows, batch_sampler=BatchSampler(rows, batch_size=2))] == [2, 2]
"""


def test_data_that_paddle_refuses(tmp_path):
    extensions.write(tmp_path, {"program.py": PROGRAM})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
