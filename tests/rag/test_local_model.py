"""Many answers from one reading of a prompt, with a small Llama of random weights."""

from __future__ import annotations

from typing import Any, NamedTuple

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


class Llama(NamedTuple):
    """A model, and the parts of the library that it is made of."""

    local: LocalModel
    model: Any
    tokenizer: Any

    def prompt(self, chat: list[dict[str, str]]) -> Any:
        return self.tokenizer.apply_chat_template(
            chat, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )["input_ids"]


@pytest.fixture(scope="module")
def llama() -> Llama:
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
    model = LlamaForCausalLM(config)
    return Llama(LocalModel(model, tokenizer), model, tokenizer)


@pytest.fixture(scope="module")
def model(llama: Llama) -> LocalModel:
    return llama.local


def test_without_heat_it_says_what_the_library_says(llama: Llama) -> None:
    together = llama.local.answers(CHATS, [0.0, 0.0], seeds=SEEDS, max_tokens=8)
    expected = []
    for chat in CHATS:
        prompt = llama.prompt(chat)
        whole = llama.model.generate(
            prompt,
            attention_mask=prompt != -1,
            max_new_tokens=8,
            do_sample=False,
            pad_token_id=0,
        )
        written = whole[0, prompt.shape[1] :]
        expected.append(llama.tokenizer.decode(written, skip_special_tokens=True).strip())
    assert together == [[text, text] for text in expected]
    assert [llama.local.chat(c, temperature=0.0, max_tokens=8).text for c in CHATS] == expected
    assert len(set(expected)) > 1


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


def test_a_beginning_that_was_read_before_changes_no_answer(model: LocalModel) -> None:
    rules = [{"role": "system", "content": "the tea is hot"}]
    for chat in (CHATS[0], CHATS[1], CHATS[0]):
        whole = [*rules, *chat]
        [[expected]] = model.answers([whole], [0.7], seeds=[4], max_tokens=8)
        said = model.chat(whole, temperature=0.7, max_tokens=8, seed=4)
        assert said.text == expected
        assert said.n_read == len(" ".join(m["content"] for m in whole).split()) + 3


def test_draws_follow_the_odds_of_the_model(llama: Llama) -> None:
    import torch

    n_draws, heat = 1000, 1.7
    drawn = llama.local.answers(
        [CHATS[0]] * n_draws, [heat], seeds=list(range(n_draws)), max_tokens=1
    )
    with torch.inference_mode():
        logits = llama.model(llama.prompt(CHATS[0])).logits[0, -1]
    odds = torch.softmax(logits / heat, -1).tolist()
    for number, odd in enumerate(odds):
        word = llama.tokenizer.decode([number], skip_special_tokens=True)
        share = [text for [text] in drawn].count(word) / n_draws
        if word:  # the ends of an answer are written without a word
            assert abs(share - odd) <= 4 * (odd * (1 - odd) / n_draws) ** 0.5
    assert sum(odd > 0.02 for odd in odds) > 3
