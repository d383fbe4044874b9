"""What a run is made of before its first step: model, averages, optimizer, and the way to gradients."""

from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import replace
from functools import partial

import torch
from torch.nn.parallel import DistributedDataParallel

from deshadow.nn.blocks import find_kernels
from deshadow.nn.config import Config, ModelConfig
from deshadow.nn.lfg import LFGDiffusion
from deshadow.training.objectives import PictureError
from deshadow.training.optimizers import Muon
from deshadow.training.options import Machine, Optimization, TrainingOptions
from deshadow.training.recorded import Gradients, RecordedGradients
from deshadow.training.spikes import SpikeLoss
from deshadow.training.state import STATE, WEIGHTS, State, load_snapshot
from deshadow.training.tasks import Task
from deshadow.training.world import World


def check_options(options: TrainingOptions, world: World) -> None:
    """Refuse a batch that does not divide among the processes, and a folder that holds another run."""
    batch, out = options.optimization.batch, options.out
    if batch % world.size:
        raise ValueError(f"--batch {batch} does not divide among {world.size} processes")
    if world.leads and not options.resume and any((out / name).exists() for name in (STATE, WEIGHTS)):
        raise ValueError(f"{out} holds a run already: continue it with --resume, or name another --out")


def new_state(options: TrainingOptions, task: Task, world: World) -> State:
    """The state at the beginning of a run, or where it is to be resumed."""
    torch.manual_seed(options.seed)
    saved = load_snapshot(options.out, options.network.config) if options.resume else None
    # What a run was started with need not be there any more when it is resumed.
    model = task.model(replace(options.network, init=None, encoder=None) if saved else options.network)
    layout = torch.channels_last if world.device.type == "cuda" else torch.contiguous_format
    model = model.to(world.device, memory_format=layout).train()
    if options.network.freeze_encoder:
        assert isinstance(model, LFGDiffusion)
        assert model.encoder is not None
        model.encoder.requires_grad_(requires_grad=False)
    average = deepcopy(model).eval().requires_grad_(requires_grad=False)
    frozen, objective = None, options.objective
    if has_latent(model.config) and objective.invariant and objective.invariant_target == "frozen":
        frozen = deepcopy(average.encoder)
    optimizer = new_optimizer(options.optimization, model, fused=world.device.type == "cuda")
    state = State(model, average, optimizer, frozen)
    if saved is not None:
        state.restore(saved)
    return state


def has_latent(config: Config) -> bool:
    """Whether a model is guided by a latent, which stage one teaches."""
    return isinstance(config, ModelConfig) and config.guidance == "latent"


def new_optimizer(options: Optimization, model: torch.nn.Module, *, fused: bool) -> torch.optim.AdamW:
    """Muon or AdamW for all parameters of a model."""
    rate, decay = options.rate, options.weight_decay
    if options.optimizer == "muon":
        return Muon(model, lr=rate, weight_decay=decay, fused=fused)
    return torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.99), weight_decay=decay, fused=fused)


def new_gradients(options: TrainingOptions, task: Task, state: State, world: World) -> Gradients:
    """The way from a batch to losses and gradients: compiled, recorded or distributed where that pays."""
    on_gpu, compiled = world.device.type == "cuda", options.machine.compiled
    criterion = task.criterion(state, options).to(world.device)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = on_gpu
    if find_kernels(next(criterion.parameters())) is not None if compiled is None else compiled:
        # The networks have kernels of their own (nn/fused.py), and whole ones take minutes to compile.
        for part in criterion.modules():
            if isinstance(part, PictureError | SpikeLoss):
                part.compile()
    if world.size > 1:
        # With lag, or guidance that a stage leaves out, some parameters get no gradient.
        criterion = DistributedDataParallel(criterion, find_unused_parameters=True)
    recorded = on_gpu and world.size == 1
    # The result must not refer to the run: DistributedDataParallel has to be freed before the process group
    # is destroyed, and a cycle of references would keep it alive.
    narrow = partial(autocast, options.machine, world.device.type)
    return (RecordedGradients if recorded else Gradients)(criterion, narrow)


def autocast(options: Machine, device: str) -> AbstractContextManager[object]:
    """Computes in bfloat16 where that is safe, if the options or the device want it."""
    wanted = options.bfloat16 if options.bfloat16 is not None else device == "cuda"
    return torch.autocast(device, torch.bfloat16) if wanted else nullcontext()
