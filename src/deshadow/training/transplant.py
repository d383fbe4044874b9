"""Weights for a model that differs in parts from the one that they were trained in."""

from pathlib import Path

import numpy as np
import torch

from deshadow.nn.config import ModelConfig
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime import checkpoint
from deshadow.runtime.quantise import dequantise


def transplant(path_or_name: str, config: ModelConfig, seed: int, output: Path) -> float:
    """Write a checkpoint of `config` with the tensors that fit by name and shape, the others random.

    Returns the share of its parameters that were taken over, 0 to 1.
    """
    given = dequantise(checkpoint.read_checkpoint(checkpoint.locate(path_or_name)).tensors)
    torch.manual_seed(seed)
    fresh = {name: tensor.numpy() for name, tensor in LFGDiffusion(config).state_dict().items()}
    fits = {name for name, tensor in fresh.items() if name in given and given[name].shape == tensor.shape}
    if not fits:
        raise ValueError(f"nothing in {path_or_name} fits the networks of this run: leave --init out")
    tensors = {name: given[name].astype(np.float32) if name in fits else fresh[name] for name in fresh}
    checkpoint.write_checkpoint(output, config, tensors)
    share: float = sum(fresh[name].size for name in fits) / sum(tensor.size for tensor in fresh.values())
    return share
