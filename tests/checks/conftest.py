"""The checks look at the same scenes as the engines do: tests/engines/node_scenes.py."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "engines"))
