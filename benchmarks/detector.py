"""The figures that training prints at a validation, for a detector that is trained already.

python benchmarks/detector.py DETECTOR OPTIONS OF TRAINING

The options say which pictures: --data, --backgrounds, --occluders, --masked, --lit and --val-count.
DETECTOR is a name or a .safetensors file.
"""

import sys

import torch

from deshadow.runtime import checkpoint
from deshadow.training.detector_validation import (
    describe_detection,
    make_detector_validation_set,
    validate_detector,
)
from deshadow.training.detector_views import open_views
from deshadow.training.options import parse_training


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    options = parse_training(["--preset", "detector", "--images", "1", *sys.argv[2:]])
    held_out = make_detector_validation_set(options, open_views(options, torch.device("cpu")))
    print(describe_detection(validate_detector(checkpoint.load_detector(sys.argv[1]), held_out)))


if __name__ == "__main__":
    main()
