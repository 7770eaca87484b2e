"""Many answers from one reading of a prompt, with a small Llama of random weights."""

from __future__ import annotations

from typing import Any

import pytest

from imabo_rag.local_model import LocalModel

WORDS = ("tea", "coffee", "milk", "hot", "cold", "sweet", "is", "what", "the", "cup")
# The turns one after the other, each with its end, and the start of the answer.
TEMPLATE = (
    "{% for m in messages %}{{ m['content'] }} <end> {% endfor %}"
    "{% if add_generation_prompt %}<answer>{% endif %}"
)
CHATS = [
    [{"role": "user", "content": text}]
    for text in ("what is hot", "the cup is sweet the milk is cold what is the tea", "coffee")
]
SEEDS = [5, 6, 7]


@pytest.fixture(scope="module")
def model() -> LocalModel:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    names = ["<pad>", "<end>", "<answer>", *WORDS]
    words = Tokenizer(models.WordLevel({name: n for n, name in enumerate(names)}, "<pad>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<end>", pad_token="<pad>", chat_template=TEMPLATE
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(names),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        eos_token_id=1,
        initializer_range=0.5,  # far from even odds, so that prompts give different answers
    )
    return LocalModel(LlamaForCausalLM(config), tokenizer)


def test_without_heat_it_says_what_a_chat_of_its_own_says(model: LocalModel) -> None:
    together = model.answers(CHATS, [0.0, 0.0], seeds=SEEDS, max_tokens=8)
    alone = [model.chat(chat, temperature=0.0, max_tokens=8).text for chat in CHATS]
    assert together == [[text, text] for text in alone]
    assert len(set(alone)) > 1


def test_an_answer_does_not_depend_on_the_answers_beside_it(model: LocalModel) -> None:
    heats = [0.0, 0.6, 1.0]
    together = model.answers(CHATS, heats, seeds=SEEDS, max_tokens=8)
    for row, (chat, seed) in enumerate(zip(CHATS, SEEDS, strict=True)):
        for column, heat in enumerate(heats):
            [[alone]] = model.answers([chat], [heat], seeds=[seed], max_tokens=8)
            assert alone == together[row][column]


def test_the_temperatures_of_a_chat_have_the_same_luck_and_seeds_another_one(
    model: LocalModel,
) -> None:
    [same] = model.answers(CHATS[:1], [1.0, 1.0], seeds=[3], max_tokens=8)
    others = [model.answers(CHATS[:1], [1.0], seeds=[n], max_tokens=8)[0][0] for n in range(8)]
    assert same[0] == same[1] == others[3]
    assert len(set(others)) > 3


def test_draws_follow_the_odds_of_the_model(model: LocalModel) -> None:
    import torch

    n_draws = 400
    first = [
        text
        for [text] in model.answers(
            [CHATS[0]] * n_draws, [1.0], seeds=list(range(n_draws)), max_tokens=1
        )
    ]
    by_chat = [
        model.chat(CHATS[0], temperature=1.0, max_tokens=1, seed=n).text for n in range(n_draws)
    ]
    words = sorted({*first, *by_chat})
    counts = torch.tensor([[row.count(word) for word in words] for row in (first, by_chat)])
    share = counts.double() / n_draws
    error = (2 * share.mean(0) * (1 - share.mean(0)) / n_draws).sqrt()
    assert bool(((share[0] - share[1]).abs() <= 4 * error + 1e-9).all())
