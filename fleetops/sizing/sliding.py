"""Which models' sliding-window layers have a pool of their own in SGLang; all others keep every token in every layer.

From `is_hybrid_swa_model` in configs/model_config.py of the releases from 0.5.8 to 0.5.23: architecture, and the first
of these releases that has it.
"""

from collections.abc import Iterable

from fleetops.sizing.releases import is_at_least

NEWEST_READ = "0.5.23"

_SINCE = {
    **dict.fromkeys(
        ("GptOssForCausalLM", "Llama4ForConditionalGeneration", "MiMoV2FlashForCausalLM", "MiMoV2MTP"), "0.5.8"
    ),
    **dict.fromkeys(("Step3p5ForCausalLM", "Step3p5MTP"), "0.5.9"),
    **dict.fromkeys(("Gemma4ForCausalLM", "Gemma4ForConditionalGeneration", "MiMoV2ForCausalLM"), "0.5.11"),
    "LagunaForCausalLM": "0.5.12",
    **dict.fromkeys(("Gemma4UnifiedForConditionalGeneration", "Step3p7ForConditionalGeneration"), "0.5.13"),
    "UnlimitedOCRForCausalLM": "0.5.15",
    **dict.fromkeys(
        ("InklingForConditionalGeneration", "InklingForConditionalGenerationMTP", "MellumForCausalLM"), "0.5.16"
    ),
    **dict.fromkeys(("MuseGlimmerForCausalLM", "MuseGlimmerForConditionalGeneration"), "0.5.18"),
    **dict.fromkeys(("GraniteMoeSWAForCausalLM", "GraniteSWAForCausalLM"), "0.5.19"),
    **dict.fromkeys(("DiffusionGemmaForBlockDiffusion", "IQuestQ1ForCausalLM", "IQuestQ1MTP"), "0.5.21"),
    "EmbeddingGemma2Model": "0.5.22",
    "BeamForCausalLM": "0.5.23",
}  # fmt: skip


def have_pool_of_their_own(
    architectures: Iterable[str], version: str, *, opted_in: bool = False
) -> bool | None:
    """Whether windows of such a model have their own pool; None for a release that was not read.

    `opted_in`: its configuration says `is_hybrid_swa` itself.
    """
    since = [_SINCE[name] for name in architectures if name in _SINCE]
    if opted_in or any(is_at_least(version, release) for release in since):
        return True
    return None if not version or not is_at_least(NEWEST_READ, version) else False
