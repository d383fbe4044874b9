"""The state of a run: all that must be saved so that a resumed run ends as an unbroken one."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deshadow.nn.config import Config
from deshadow.nn.detector import ShadowDetector
from deshadow.nn.lfg import Encoder, LFGDiffusion
from deshadow.runtime import checkpoint

MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""What AdamW keeps of each parameter."""
COUNTERS = ("images", "steps", "elapsed", "standstill", "pretrained")
"""What is saved beside the tensors."""
STATE = f"state{checkpoint.SUFFIX}"
WEIGHTS = f"weights{checkpoint.SUFFIX}"


@dataclass
class State:
    """A model in training, with the average of its weights and its optimizer."""

    model: LFGDiffusion | ShadowDetector
    average: LFGDiffusion | ShadowDetector
    optimizer: torch.optim.AdamW
    frozen: Encoder | None = None
    """E*, the encoder as it was at the end of stage one, where the invariant loss pulls to it."""
    pretrained: bool = False
    """Whether stage two has begun; from then on E* is frozen, where there is one."""
    images: int = 0
    """Images that the run has seen."""
    steps: int = 0
    elapsed: float = 0.0
    """Seconds that the run has taken, over all its calls."""
    standstill: float = 0.0
    """Seconds of these that the first step of each call took, which compiles."""

    def tensors(self) -> dict[str, Tensor]:
        """Everything that training changes, by name."""
        found = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        found |= {f"average.{name}": tensor for name, tensor in self.average.state_dict().items()}
        if self.frozen is not None:
            found |= {f"frozen.{name}": tensor for name, tensor in self.frozen.state_dict().items()}
        for name, parameter in self.model.named_parameters():
            moments = self.optimizer.state.get(parameter, {})
            found |= {f"optimizer.{kind}.{name}": tensor for kind, tensor in moments.items()}
        return found

    def snapshot(self) -> "Snapshot":
        """A copy in main memory, which further steps do not change."""
        tensors = {name: tensor.detach().to("cpu", copy=True) for name, tensor in self.tensors().items()}
        counters = {name: getattr(self, name) for name in COUNTERS}
        return Snapshot(self.model.config, tensors, **counters)

    def is_finite(self) -> bool:
        """Whether all weights are finite: an infinite gradient makes them NaN, though the loss was finite."""
        norms = torch._foreach_norm(list(self.model.parameters()))
        return bool(torch.stack(norms).isfinite().all())

    def end_stage_one(self) -> None:
        """Freeze E*: the averaged encoder as it is now."""
        if self.frozen is not None:
            assert isinstance(self.average, LFGDiffusion)
            assert self.average.encoder is not None
            self.frozen.load_state_dict(self.average.encoder.state_dict())
        self.pretrained = True

    def restore(self, saved: "Snapshot") -> None:
        """Set everything to what it was at a snapshot."""
        self.model.load_state_dict(_under("model.", saved.tensors))
        self.average.load_state_dict(_under("average.", saved.tensors))
        if self.frozen is not None:
            self.frozen.load_state_dict(_under("frozen.", saved.tensors))
        for name in COUNTERS:
            setattr(self, name, getattr(saved, name))
        self.optimizer.state.clear()
        fused = bool(self.optimizer.param_groups[0]["fused"])
        for name, parameter in self.model.named_parameters():
            for kind in MOMENTS:
                if (tensor := saved.tensors.get(f"optimizer.{kind}.{name}")) is None:
                    continue
                # As torch makes them: laid out like the parameter; the step count on the CPU unless fused.
                if kind == "step":
                    tensor = tensor.to(parameter.device if fused else "cpu", copy=True)
                else:
                    tensor = torch.empty_like(parameter, requires_grad=False).copy_(tensor)
                self.optimizer.state[parameter][kind] = tensor

    def follow(self, batch: int, half_life: int) -> None:
        """Move the average towards the weights, faster at the beginning of a run; half-life 0 copies them."""
        forgets = 0.5 ** (batch / max(1.0, min(half_life, 0.1 * self.images))) if half_life else 0.0
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.parameters()), list(self.model.parameters()), 1 - forgets)


@dataclass(frozen=True)
class Snapshot:
    """A copy of a state, in main memory."""

    config: Config
    tensors: dict[str, Tensor]
    images: int
    steps: int
    elapsed: float
    standstill: float = 0.0
    pretrained: bool = False

    def save(self, folder: Path, options: str) -> None:
        """Write it as the run's state; the state before stays if writing fails."""
        counters = {name: getattr(self, name) for name in COUNTERS}
        arrays = {name: tensor.numpy() for name, tensor in self.tensors.items()}
        checkpoint.write_checkpoint(
            folder / STATE, self.config, arrays, {"counters": json.dumps(counters), "options": options}
        )


def load_snapshot(folder: Path, expect: Config) -> Snapshot:
    """The state of the run in a folder."""
    path = folder / STATE
    if not path.exists():
        raise ValueError(f"there is no run to resume in {folder}: leave --resume out to start one")
    config, arrays, notes = checkpoint.read_checkpoint(path)
    if config != expect:
        raise ValueError(checkpoint.explain_mismatch(path, config, expect))
    counters: dict[str, Any] = json.loads(notes["counters"])
    return Snapshot(config, {name: torch.from_numpy(array) for name, array in arrays.items()}, **counters)


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
