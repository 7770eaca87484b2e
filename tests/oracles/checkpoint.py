"""A checkpoint of the TabPFN-3 regressor that is made here: its real architecture, a few thousand
random weights, in the file format that the package loads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest


def write_checkpoint(path: Path, seed: int = 0) -> Path:
    """Write a tiny network; its predictions depend on every column, and mean nothing."""
    import torch
    from tabpfn.architectures.tabpfn_v3 import TabPFNV3Config, get_architecture
    from tabpfn.constants import ModelVersion
    from tabpfn.inference_config import InferenceConfig

    config = TabPFNV3Config(
        num_buckets=50,
        embed_dim=16,
        dist_embed_num_blocks=1,
        dist_embed_num_heads=2,
        dist_embed_num_inducing_points=4,
        feat_agg_num_blocks=1,
        feat_agg_num_heads=2,
        feat_agg_num_cls_tokens=2,
        nlayers=2,
        icl_num_heads=2,
        softmax_scaling_mlp_hidden_dim=8,
    )
    network = get_architecture(config)
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in network.parameters():
            weights.normal_(0.0, 0.4, generator=noise)
    # From version 3 on the settings of inference are in the file; these are the newest defaults
    # that the package itself can write.
    inference = InferenceConfig.get_default("regression", ModelVersion.V2_5)
    torch.save(
        {
            "architecture_name": "tabpfn_v3",
            "config": asdict(config),
            "inference_config": asdict(inference),
            "state_dict": network.state_dict(),
        },
        path,
    )
    return path


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A tiny TabPFN-3 regressor; torch computes on one core, which is faster for so little."""
    import torch

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield write_checkpoint(tmp_path_factory.mktemp("tabpfn") / "tiny-v3.ckpt")
    torch.set_num_threads(n_threads)
