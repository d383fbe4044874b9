"""The cost of a forward pass beyond its convolutions.

Processor time per GFLOP of a preset in eager torch, against a plain stack of the same convolutions.

    python benchmarks/forward.py [PRESET]
"""

import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from deshadow.nn.config import find_preset
from deshadow.nn.layout import Cost, model_cost
from deshadow.nn.lfg import LFGDiffusion

SIDE = 256


def best(runs: dict[str, Callable[[], object]], times: int = 3) -> dict[str, float]:
    """The least processor time of each, taken in turns, so that a busy machine does not matter."""
    spans: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(1 + times):
        for name, run in runs.items():
            start = time.process_time()
            run()
            spans[name].append(time.process_time() - start)
    return {name: min(each[1:]) for name, each in spans.items()}


@torch.inference_mode()
def main() -> None:
    config = find_preset(sys.argv[1] if len(sys.argv) > 1 else "paper")
    model = LFGDiffusion(config).eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    picture, mask = (
        torch.rand(1, n, SIDE, SIDE).contiguous(memory_format=torch.channels_last) for n in (3, 1)
    )

    def forward() -> Tensor:
        output: Tensor = model(picture, torch.ones(1), picture, mask, model.encode(picture, mask))
        return output

    stack: list[tuple[nn.Conv2d, Tensor]] = []
    hooks = [
        module.register_forward_hook(lambda conv, inputs, _: stack.append((conv, torch.rand_like(inputs[0]))))
        for module in model.modules()
        if isinstance(module, nn.Conv2d)
    ]
    forward()
    for hook in hooks:
        hook.remove()

    def convolutions() -> None:
        for conv, x in stack:
            conv(x)

    seconds = best({"forward pass": forward, "its convolutions": convolutions})
    gflop = {
        "forward pass": sum(model_cost(config, SIDE, SIDE).values(), Cost()).flop / 1e9,
        "its convolutions": sum(2e-9 * conv.weight.numel() * conv(x)[0, 0].numel() for conv, x in stack),
    }
    for name, span in seconds.items():
        rate = gflop[name] / span
        print(f"{name:17} {gflop[name]:7.1f} GFLOP {span:7.3f} s {rate:6.1f} GFLOP/s")
    cost = [seconds[name] / gflop[name] for name in seconds]
    print(f"time per GFLOP, forward pass to convolutions: {cost[0] / cost[1]:.2f}")


if __name__ == "__main__":
    main()
