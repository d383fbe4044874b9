"""How long the package takes to start: the best of ten new processes for each command.

python benchmarks/startup.py
"""

import subprocess
import sys
import time

COMMANDS = {
    "python alone": ["-c", ""],
    "import deshadow": ["-c", "import deshadow"],
    "deshadow --help": ["-m", "deshadow", "--help"],
    "deshadow models": ["-m", "deshadow", "models"],
}


def main() -> None:
    for name, arguments in COMMANDS.items():
        spans = []
        for _ in range(10):
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
            spans.append(time.perf_counter() - start)
        print(f"{name:16} {min(spans):.3f} s")


if __name__ == "__main__":
    main()
