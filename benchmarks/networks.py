"""The networks that are trained: each once, of layers that every framework has under the same names."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from benchmarks.adapters import Adapter

MLP_SIZES = (784, 256, 256, 10)
#: (width, number of heads, width of the hidden layer)
TRANSFORMER = (256, 4, 1024)
#: (vocabulary, width, number of layers)
LANGUAGE_MODEL = (10_000, 200, 2)
#: (vocabulary, number of tokens, number of blocks), the blocks being TRANSFORMERs
GPT = (1000, 64, 4)


def _weight(*shape: int, inputs: int, seed: int) -> np.ndarray:
    """Normal values of variance 1 / inputs."""
    import numpy as np

    numbers: np.ndarray = np.random.default_rng(seed).standard_normal(shape) / np.sqrt(inputs)
    return numbers.astype(np.float32)


def _vector(size: int, value: float = 0.0) -> np.ndarray:
    import numpy as np

    return np.full(size, value, np.float32)


def mlp_weights() -> list[np.ndarray]:
    """Weights [in, out] and biases in turn."""
    weights = []
    for i, (inputs, outputs) in enumerate(pairwise(MLP_SIZES)):
        weights += [_weight(inputs, outputs, inputs=inputs, seed=i), _vector(outputs)]
    return weights


def mlp(fw: Adapter) -> Any:
    """784-256-256-10, relu between the layers."""
    layers: list[Any] = []
    for inputs, outputs in pairwise(MLP_SIZES):
        layers += [fw.nn.Linear(inputs, outputs), fw.nn.ReLU()]
    return fw.nn.Sequential(*layers[:-1])


def convolutional_weights() -> list[np.ndarray]:
    """Returns weights of both convolutions [out, in, 3, 3] and of the last layer [in, out], each followed by a bias."""
    first, second = _weight(32, 1, 3, 3, inputs=9, seed=0), _weight(64, 32, 3, 3, inputs=288, seed=1)
    return [first, _vector(32), second, _vector(64), _weight(3136, 10, inputs=3136, seed=2), _vector(10)]


def convolutional(fw: Adapter) -> Any:
    """Two 3x3 convolutions, 1-32-64 channels, each with relu and halved by its maxima; a linear layer to 10 classes."""
    return fw.nn.Sequential(
        fw.nn.Conv2d(1, 32, 3, padding=1),
        fw.nn.ReLU(),
        fw.nn.MaxPool2d(2),
        fw.nn.Conv2d(32, 64, 3, padding=1),
        fw.nn.ReLU(),
        fw.nn.MaxPool2d(2),
        fw.nn.Flatten(),
        fw.nn.Linear(64 * 7 * 7, 10),
    )


def transformer_weights() -> list[np.ndarray]:
    """Returns the weights in the order of the block's layers; linear ones as [in, out]."""
    width, _, hidden = TRANSFORMER
    norm = [_vector(width, 1.0), _vector(width)]
    attention = [_weight(width, 3 * width, inputs=width, seed=0), _weight(width, width, inputs=width, seed=1)]
    inner, outer = _weight(width, hidden, inputs=width, seed=2), _weight(hidden, width, inputs=hidden, seed=3)
    return [*norm, *attention, _vector(width), *norm, inner, _vector(hidden), outer, _vector(width)]


def transformer(fw: Adapter, causal: bool = False) -> Any:
    """A block with its norms ahead: `x + attention(norm(x))`, then `x + mlp(norm(x))` with GELU.

    Queries, keys and values come from one layer without a bias: that of the keys would have a gradient of 0 plus
    rounding, which Adam makes full steps of.
    """
    width, heads, hidden = TRANSFORMER
    nn = fw.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]  # Any: the framework's own class
        def __init__(self) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(width)
            self.qkv = nn.Linear(width, 3 * width, bias=False)
            self.out = nn.Linear(width, width)
            self.norm2 = nn.LayerNorm(width)
            self.inner = nn.Linear(width, hidden)
            self.gelu = nn.GELU()
            self.outer = nn.Linear(hidden, width)

        def forward(self, x: Any) -> Any:
            x = x + self.out(fw.self_attention(self.qkv(self.norm1(x)), heads, causal))
            return x + self.outer(self.gelu(self.inner(self.norm2(x))))

    return Block()


def language_model_weights() -> list[np.ndarray]:
    """Returns the embedding as [width, words], each layer's weights and biases, and the last one's."""
    words, width, layers = LANGUAGE_MODEL
    weights = [_weight(width, words, inputs=width, seed=0)]
    for layer in range(layers):
        weights += [_weight(width, 4 * width, inputs=width, seed=2 * layer + part + 1) for part in (0, 1)]
        weights += [_vector(4 * width), _vector(4 * width)]
    return [*weights, _weight(width, words, inputs=width, seed=9), _vector(words)]


def language_model(fw: Adapter) -> Any:
    """An embedding, LSTM layers and a linear layer: [tokens, batch] to logits [tokens * batch, words]."""
    words, width, layers = LANGUAGE_MODEL
    nn = fw.nn

    class LanguageModel(nn.Module):  # type: ignore[misc, name-defined]  # Any: the framework's own class
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(words, width)
            self.lstm = nn.LSTM(width, width, num_layers=layers)
            self.head = nn.Linear(width, words)

        def forward(self, tokens: Any) -> Any:
            states, _ = self.lstm(self.embedding(tokens))
            return self.head(fw.reshape(states, (-1, width)))

    return LanguageModel()


def gpt_weights() -> list[np.ndarray]:
    """Returns both embeddings as [width, rows], the blocks' weights, and those of the last norm and layer."""
    words, tokens, blocks = GPT
    width = TRANSFORMER[0]
    weights = [_weight(width, words, inputs=width, seed=0), _weight(width, tokens, inputs=width, seed=1)]
    for _ in range(blocks):
        weights += transformer_weights()
    return [*weights, _vector(width, 1.0), _vector(width), _weight(width, words, inputs=width, seed=2)]


def gpt(fw: Adapter) -> Any:
    """Embeddings of tokens and places, causal blocks, a norm and a linear layer: [batch, tokens] to rows of logits."""
    words, tokens, blocks = GPT
    width = TRANSFORMER[0]
    nn = fw.nn

    class Gpt(nn.Module):  # type: ignore[misc, name-defined]  # Any: the framework's own class
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(words, width)
            self.places = nn.Embedding(tokens, width)
            self.blocks = nn.Sequential(*(transformer(fw, causal=True) for _ in range(blocks)))
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, words, bias=False)
            self.numbers = fw.tensor(_counted(tokens))

        def forward(self, given: Any) -> Any:
            x = self.words(given) + self.places(self.numbers)
            return self.head(fw.reshape(self.norm(self.blocks(x)), (-1, width)))

    return Gpt()


def _counted(count: int) -> np.ndarray:
    import numpy as np

    return np.arange(count)
