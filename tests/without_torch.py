"""The beginning of a program that runs as if torch were not installed."""

WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # as if it were not installed
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch" else find(name, *rest)
import numpy as np
from deshadow.runtime.backend import condition
from deshadow.runtime.onnx_backend import OnnxBackend
from deshadow.runtime.open import open_backend
from deshadow.diffusion.sampling import sample
"""
