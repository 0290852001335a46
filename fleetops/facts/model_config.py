"""A model's config.json on a node: in the model's own folder, or in Hugging Face's cache where the model is a name.

The cache lies where `HF_HUB_CACHE` or `HF_HOME` say, else in `~/.cache/huggingface`; `refs/main` in it names the
snapshot in use (huggingface_hub, file_download.py).
"""

import json

from fleetops.facts.output import finished_lines
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Absent, Fact, Unparsable
from fleetops.model.kv import MODEL_CONFIG, ModelConfig

SCRIPT = """\
model=$1
cache=${2:-${HF_HUB_CACHE:-${HF_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/huggingface}/hub}}
found() {
  printf 'file %s\\n' "$1"
  cat "$1" || exit 1
  printf '\\nend\\n'
  exit 0
}
if [ -f "$model/config.json" ]; then found "$model/config.json"; fi
kept=$cache/models--$(printf '%s' "$model" | sed 's|/|--|g')
if [ -r "$kept/refs/main" ]; then
  snapshot=$kept/snapshots/$(cat "$kept/refs/main")
  if [ -f "$snapshot/config.json" ]; then found "$snapshot/config.json"; fi
fi
for snapshot in "$kept"/snapshots/*/config.json; do
  if [ -f "$snapshot" ]; then found "$snapshot"; fi
done
echo nothing
echo end
"""


def fact(model: str, cache: str = "") -> Fact[ModelConfig]:
    """Of the model in this folder, or of this name; `cache` is Hugging Face's where it is not the login's own."""
    return Fact(MODEL_CONFIG, shell(SCRIPT, model, cache), parse)


def parse(outcome: Outcome) -> ModelConfig:
    """Raises Absent where there is none, Unparsable for what is no JSON object."""
    found = finished_lines(outcome)
    if found == ["nothing"]:
        raise Absent("the model has no config.json on this host")
    if not found or not found[0].startswith("file "):
        raise Unparsable(f"no config.json told: {outcome.said}")
    path = found[0].removeprefix("file ")
    try:
        config = json.loads("\n".join(found[1:]))
    except (json.JSONDecodeError, RecursionError) as error:
        raise Unparsable(f"{path} is no JSON: {error}") from error
    if not isinstance(config, dict):
        raise Unparsable(f"{path} holds no JSON object")
    return ModelConfig(path=path, config=config)
