"""The clients: they ask and tell, repeat, reorder, delay, contradict, and never lose count."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Final
from urllib.parse import quote

from tests.chaos.fleet import Fleet
from tests.chaos.history import Asked, History, Pulled, cost_of
from tests.chaos.wire import Answer, Line, Lost

MOST_OPEN: Final = 1500  # pulls that wait for their reward before clients only tell
FEWEST_OPEN: Final = 150  # so that what is told next is not what was asked last
COUNTS: Final = (1, 1, 1, 2, 5, 20)
BATCHES: Final = (2, 10, 50)


class Clients:
    """Concurrent clients of one service, and what they know together.

    Args:
        fleet: Where to send requests; any server will do.
        studies: Names of the studies.
        history: Where to write down what happened.
        seed: Of everything they do.
    """

    def __init__(self, fleet: Fleet, studies: list[str], history: History, seed: int) -> None:
        self.fleet = fleet
        self.studies = studies
        self.history = history
        self.seed = seed
        self.waiting: list[Pulled] = []  # pulls whose reward nobody sent yet
        self.told: list[tuple[str, float]] = []  # rewards that were acknowledged
        self.asked: list[Asked] = []  # asks with a key that were acknowledged
        self.is_stopped = False

    async def run(self, count: int) -> None:
        """Let so many clients work until ``stop``."""
        async with asyncio.TaskGroup() as group:
            for number in range(count):
                group.create_task(Client(self, number).run())

    def stop(self) -> None:
        """Let every client finish what it is at."""
        self.is_stopped = True


class Client:
    """One of them: one thing after the other, sometimes two at once."""

    def __init__(self, shared: Clients, number: int) -> None:
        self._shared = shared
        self._history = shared.history
        self._number = number
        self._n_asks = 0
        self._rng = Random(f"{shared.seed}-{number}")
        self._lines: dict[int, list[Line]] = {}

    async def run(self) -> None:
        """Work until all are stopped."""
        while not self._shared.is_stopped:
            await self._step()
        for lines in self._lines.values():
            for line in lines:
                line.close()

    async def _step(self) -> None:
        rng, n_open, dice = self._rng, len(self._shared.waiting), self._rng.random()
        if dice < 0.04 and self._shared.asked:
            await self._repeat_ask(rng.choice(self._shared.asked))
        elif dice < 0.08 and self._shared.told:
            await self._tell_again()
        elif dice < 0.10 and self._shared.told:
            await self._read(*rng.choice(self._shared.told))
        elif dice < 0.16 and self._shared.told:
            await self._signal()
        elif n_open < FEWEST_OPEN or (dice < 0.4 and n_open < MOST_OPEN):
            await self._ask()
        elif dice < 0.5:
            await self._tell_together([self._pick() for _ in range(rng.choice(BATCHES))])
        elif dice < 0.53:
            await self._tell_two_values(self._pick())
        else:
            await self._tell(self._pick()["id"], self._value())

    def _pick(self) -> Pulled:
        """A pull to reward: any, so that rewards come in any order and after any time."""
        waiting = self._shared.waiting
        place = self._rng.randrange(len(waiting))
        waiting[place], waiting[-1] = waiting[-1], waiting[place]
        return waiting.pop()

    def _value(self) -> float:
        """A reward with all its digits."""
        return self._rng.random()

    # --- asks -----------------------------------------------------------------------------------

    async def _ask(self) -> None:
        rng = self._rng
        self._n_asks += 1
        name = f"{self._number}/{self._n_asks} ü"
        key = name if rng.random() < 0.9 else None
        context = {"ask": name, "x": rng.random()} if key is None or rng.random() < 0.5 else None
        # Most of them to the first: a large study next to a small one.
        study, *others = self._shared.studies
        if others and rng.random() < 0.15:
            study = rng.choice(others)
        asked = self._history.asked(study, key, rng.choice(COUNTS), context)
        dice = rng.random()
        if key is not None and dice < 0.05:
            await asyncio.gather(self._send_ask(asked), self._send_ask(asked))
        else:
            await self._send_ask(asked)
        if asked in self._shared.asked[-1:] and dice > 0.95:
            await self._send_ask(asked)  # at once, before other servers have heard of it

    async def _send_ask(self, asked: Asked) -> None:
        was_known = asked.pulls is not None
        path = f"/v1/studies/{quote(asked.study, safe='')}/pulls"
        # A key is what makes it safe to send an ask again.
        answer = await self._send("POST", path, asked.body, may_repeat=asked.key is not None)
        if answer is None:
            return
        if answer.status not in (200, 201):
            self._history.contradict(f"ask {asked} was answered {answer}")
            return
        if was_known and answer.status != 200:
            self._history.counts["repeats answered 201"] += 1  # the pulls are what matters
        if self._history.got(asked, answer.body["pulls"]):
            # Some rewards never come.
            self._shared.waiting += [p for p in answer.body["pulls"] if self._rng.random() < 0.96]
            if asked.key is not None:
                self._shared.asked.append(asked)

    async def _repeat_ask(self, asked: Asked) -> None:
        if self._rng.random() < 0.8:
            await self._send_ask(asked)
            return
        body = asked.body | {"count": asked.count + 1}
        path = f"/v1/studies/{quote(asked.study, safe='')}/pulls"
        answer = await self._send("POST", path, body)
        if answer is not None and (answer.status, answer.code) != (409, "key_conflict"):
            self._history.contradict(f"{asked} with another count was answered {answer}")
        self._history.counts["key conflicts"] += answer is not None

    # --- signals --------------------------------------------------------------------------------

    def _any_pull(self) -> str:
        """One that has its reward, or one that still waits for it."""
        if self._shared.waiting and self._rng.random() < 0.5:
            return str(self._rng.choice(self._shared.waiting)["id"])
        return self._rng.choice(self._shared.told)[0]

    async def _signal(self) -> None:
        """A signal alone, perhaps again; or another value of one that is there: it is refused."""
        rng, costed = self._rng, self._history.costed
        pull = rng.choice(costed) if costed and rng.random() < 0.5 else self._any_pull()
        value = cost_of(pull)
        # The first one that can be refused is, so that the shortest run has such a case.
        is_first = not self._history.counts["signal conflicts"]
        if self._history.has_cost(pull) and (is_first or rng.random() < 0.3):
            value = 2.0 + rng.random()
        self._history.costing(pull, value)
        answer = await self._send("PUT", f"/v1/pulls/{pull}/signals/cost", {"value": value})
        if answer is None:
            return
        if answer.status == 204:
            self._history.cost_recorded(pull, value)
        elif (answer.status, answer.code) == (409, "signal_conflict"):
            self._history.cost_conflicted(pull, value)
        else:
            self._history.contradict(f"the signal {value} of pull {pull} was answered {answer}")

    def _with_signal(self, pull: str, body: dict[str, object]) -> bool:
        """Put the signal into the report of a reward, some of the time: both count, or neither."""
        if self._rng.random() < 0.5:
            return False
        self._history.costing(pull, cost_of(pull))
        body["signals"] = {"cost": cost_of(pull)}
        return True

    # --- rewards --------------------------------------------------------------------------------

    async def _tell(self, pull: str, value: float) -> None:
        self._history.telling(pull, value)
        body: dict[str, object] = {"reward": value}
        has_signal = self._with_signal(pull, body)
        answer = await self._send("PUT", f"/v1/pulls/{pull}/reward", body)
        if answer is not None:
            self._take(pull, value, answer.status == 204, answer.code)
            if has_signal and answer.status == 204:
                self._history.cost_recorded(pull, cost_of(pull))

    async def _tell_two_values(self, pulled: Pulled) -> None:
        """Two clients that disagree, at the same time: one of them is right."""
        pull = pulled["id"]
        await asyncio.gather(self._tell(pull, self._value()), self._tell(pull, self._value()))

    async def _tell_again(self) -> None:
        pull, value = self._rng.choice(self._shared.told)
        if self._rng.random() < 0.3:
            value = self._value()  # too late: it has one
        await self._tell(pull, value)

    async def _tell_together(self, pulls: list[Pulled]) -> None:
        """Several rewards at once; some twice, some of pulls that have one, some of none."""
        rng = self._rng
        rewards = [(pulled["id"], self._value()) for pulled in pulls]
        rewards += rng.choices(rewards, k=len(rewards) // 5)
        if self._shared.told and rng.random() < 0.5:
            pull, value = rng.choice(self._shared.told)
            rewards.append((pull, value if rng.random() < 0.5 else self._value()))
        rng.shuffle(rewards)
        unknown = f"{rewards[0][0].rpartition('-')[0]}-999999999"
        body: list[dict[str, object]] = [
            {"pull": pull, "reward": value} for pull, value in [*rewards, (unknown, 0.5)]
        ]
        for (pull, value), one in zip(rewards, body, strict=False):
            self._history.telling(pull, value)
            self._with_signal(pull, one)
        answer = await self._send("POST", "/v1/rewards", {"rewards": body})
        if answer is None:
            return
        if answer.status != 200 or len(answer.body["results"]) != len(body):
            self._history.contradict(f"rewards {body} were answered {answer}")
            return
        *results, last = answer.body["results"]
        self._check_unknown(last)
        for (pull, value), one, result in zip(rewards, body, results, strict=False):
            code = result.get("problem", {}).get("code", "")
            if result["pull"] != pull:
                self._history.contradict(f"the result of pull {pull} is {result}")
            elif code != "unavailable":
                self._take(pull, value, result["status"] == "recorded", code)
                if "signals" in one and result["status"] == "recorded":
                    self._history.cost_recorded(pull, cost_of(pull))

    def _check_unknown(self, result: dict[str, object]) -> None:
        problem = result.get("problem")
        code = problem.get("code") if isinstance(problem, dict) else None
        if code not in ("unknown_pull", "unavailable"):
            self._history.contradict(f"a pull that is not there was answered {result}")

    def _take(self, pull: str, value: float, is_recorded: bool, code: str) -> None:
        if is_recorded:
            is_first = not self._history.tolds[pull].acknowledged
            self._history.recorded(pull, value)
            if is_first:
                self._shared.told.append((pull, value))
        elif code == "reward_conflict":
            self._history.conflicted(pull, value)
        else:
            self._history.contradict(f"reward {value} of pull {pull} was refused: {code}")

    async def _read(self, pull: str, value: float) -> None:
        """What was acknowledged can be read from any server."""
        answer = await self._send("GET", f"/v1/pulls/{pull}")
        if answer is None:
            return
        self._history.counts["reads"] += 1
        if answer.status != 200 or answer.body["reward"] != value:
            self._history.contradict(f"pull {pull} got {value} and reads {answer}")

    # --- sending --------------------------------------------------------------------------------

    async def _send(
        self, method: str, path: str, body: object = None, *, may_repeat: bool = True
    ) -> Answer | None:
        """Send to any server, again while it is not known what became of it; None if it never is.

        Now and then a client gives up although it does not know, as one that dies would.
        """
        patience = 1 if not may_repeat else 2 if self._rng.random() < 0.1 else 1000
        for attempt in range(patience):
            if attempt:
                await asyncio.sleep(self._rng.uniform(0.02, 0.2))
            ports = self._shared.fleet.ports
            if attempt and self._shared.is_stopped:
                break
            if not ports:
                continue
            self._history.counts["retries"] += attempt > 0
            port = self._rng.choice(ports)
            waiting = self._lines.setdefault(port, [])
            line = waiting.pop() if waiting else Line(port)
            try:
                answer = await line.send(method, path, body)
            except Lost:
                self._history.counts["answers lost"] += 1
                continue
            waiting.append(line)
            if answer.status == 503:
                self._history.counts["answers unavailable"] += 1
                continue
            if answer.status >= 500:
                self._history.contradict(f"{method} {path} {body} was answered {answer}")
                continue
            return answer
        self._history.counts["given up"] += 1
        return None
