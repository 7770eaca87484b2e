"""The commands: their groups, the words and examples of their help, and what each takes."""

from __future__ import annotations

import argparse
from typing import Final

from imabo.cli.arguments import (
    ARMS,
    DECLARING,
    OF_SIGNAL,
    PLACE,
    SHELLS,
    SORTS,
    STUDY,
    TOP,
    Columns,
    between,
    column,
    command,
    count,
    flag,
    number_or_none,
    takes,
    whole,
)
from imabo.cli.gateway import GATEWAY
from imabo.cli.parser import Argument, Command, Subparsers
from imabo.cli.pull_commands import BUDGET, FRONTIER, PULL, SIGNAL, TELL


def _load_server(parsers: Subparsers) -> None:
    from imabo.server.commands import add_parsers

    add_parsers(parsers)


def _load_bench(parsers: Subparsers) -> None:
    try:
        from imabo_bench.commands import add_parser
    except ModuleNotFoundError as error:
        if error.name != "imabo_bench":
            raise
        from imabo.cli.no_bench import add_refusal as add_parser

    add_parser(parsers)


_LOOK: Final = [
    command(
        "look:studies",
        "the studies there are",
        "Lists the studies of a database, or those of a service that the key may see.",
        "imabo studies",
        *PLACE,
    ),
    command(
        "look:show",
        "a study: its key figures and its best arms",
        "Shows how far a study has come: requests and feedback, the reward lately beside that of "
        "serving at random, the arms with the highest means, and what happened to it last.",
        "imabo show support-answers --top 5",
        *STUDY,
        TOP,
    ),
    command(
        "look:arms",
        "the arms of a study, sorted and filtered",
        "Lists arms with their mean reward, an interval for it and their share of the traffic. "
        "The estimate is the mean without the luck of few rewards. What is surely good comes "
        "first, arms without rewards last.",
        "imabo arms support-answers --state active --sort n_rewards",
        *STUDY,
        takes(
            "--sort",
            f"{', '.join(SORTS)}, or {OF_SIGNAL}NAME for the mean of a signal (%(default)s)",
            type=column,
            choices=Columns(SORTS),
            default="sure",
            metavar="COLUMN",
        ),
        flag("--ascending", "the lowest first"),
        takes(
            "--state",
            "only arms in this state; may be repeated",
            action="append",
            choices=("active", "paused", "retired"),
        ),
        takes(
            "--text", "only arms whose configuration has these words", default="", metavar="WORDS"
        ),
        count("--offset", 0, 10**9, 0, "skip so many (%(default)s)"),
        count("--limit", 1, 1000, 50, "list so many at most (%(default)s)"),
    ),
    command(
        "look:best",
        "the configuration to keep if learning stopped now",
        "Shows the arm to keep if learning stopped now, with an interval for its mean. An arm "
        "that was lucky with a few rewards is not it.",
        "imabo best support-answers --json",
        *STUDY,
        takes("--level", "of the interval (%(default)s)", type=float, default=0.95, metavar="P"),
    ),
    command(
        "control:lift",
        "how much better it is than the control",
        "Shows how much better the tuned requests are than the control's: over all rewards, the "
        "last ones and by day. The interval holds at every moment. It needs a control; see imabo "
        "control.",
        "imabo lift support-answers",
        *STUDY,
        takes("--level", "of the intervals (%(default)s)", type=float, default=0.95, metavar="P"),
        count("--last", 1, 10**9, 1000, "rewards that count as the last ones (%(default)s)"),
    ),
    command(
        "control:plan_lift",
        "how many requests it takes to tell a lift",
        "Says how many requests it takes until the lift over a control is known well enough, for "
        "rewards of 0 and 1; all numbers are parts of the reward range.",
        "imabo plan --share 0.1 --reward 0.6 --detect 0.03 --feedback 0.5",
        takes("--share", "of the control, in (0, 1)", type=float, required=True, metavar="P"),
        takes("--reward", "the mean, in (0, 1)", type=float, required=True, metavar="R"),
        takes("--detect", "half the width of the interval", type=float, required=True, metavar="D"),
        takes(
            "--feedback",
            "share of the requests that bring a reward (%(default)s)",
            type=float,
            default=1.0,
            metavar="P",
        ),
        takes("--level", "of the interval (%(default)s)", type=float, default=0.95, metavar="P"),
        flag("--json", "one JSON document"),
        name="plan",
    ),
    command(
        "look:events",
        "what happened, to a study or anywhere, the newest last",
        "Lists what happened to a study apart from requests and rewards: arms that were added, "
        "paused, resumed or retired by hand, changes of the space and of the control, roll-backs, "
        "and changes of the rewards that the study noticed by itself (drift). Without a study it "
        "lists what happened to all of them and to the service itself: keys, webhooks, studies "
        "that were deleted; over HTTP that needs an admin's key.",
        "imabo events support-answers --limit 20",
        takes("study", "its name; by default all", metavar="STUDY", nargs="?"),
        *PLACE,
        count("--limit", 1, 10_000, 50, "list so many at most, the newest of them (%(default)s)"),
        takes(
            "--kind", "only events of this kind; may be repeated", action="append", metavar="KIND"
        ),
        count("--after", 0, 10**17, None, "list the first ones after this id instead"),
        takes(
            "--out",
            "write all of them to this file, which ends in .jsonl, .csv or .parquet",
            metavar="FILE",
        ),
    ),
    command(
        "watch:watch",
        "a study live in the terminal",
        "Follows a study: key figures, the reward over time, the best arms, the newest change "
        "that was noticed. It ends with q or Ctrl-C, or by itself with --count. Where the output "
        "is no terminal it writes a line a look; with --json, a JSON document a line.",
        "imabo watch support-answers --every 1 --count 2",
        *STUDY,
        takes(
            "--every",
            "seconds between two looks (%(default)s)",
            type=between(float, 0.1, 86_400, "_seconds"),
            default=2.0,
            metavar="S",
        ),
        count("--count", 1, 10**9, None, "end after so many"),
        TOP,
    ),
]
_LOOK.extend([PULL, FRONTIER])
_STEP_IN: Final = [
    command(
        "declare:create",
        "make a study from a file that declares it",
        "Makes a study, or finds that it is there already, from a TOML or JSON file with name, "
        "space, and what Study.create takes besides: forbid, reward_range, window_s, policy, "
        'oracle, seed, signals, objective, control (config, or "random", and share), exposure, '
        "guardrail, revision. In TOML a parameter is a table:\n\n"
        '[space.model]  type = "choice", values = ["small", "large"]\n\n'
        "The space may also have the form that imabo space --json prints. For a study that was "
        "declared otherwise, --if-changed says what to do.",
        "imabo create study.toml",
        takes("file", "TOML, or JSON where its name ends in .json (- for stdin)", metavar="FILE"),
        takes("--name", "for the study; by default the one in the file"),
        *DECLARING,
        *PLACE,
    ),
    TELL,
    SIGNAL,
    BUDGET,
    command(
        "step_in:put_states",
        "stop serving arms until they are resumed",
        "Stops serving arms until imabo resume; what is known of them stays.",
        "imabo pause support-answers 1 2",
        *STUDY,
        ARMS,
        name="pause",
    ),
    command(
        "control:resume",
        "go on tuning after a roll-back, or serve paused arms again",
        "Goes on tuning after the study was rolled back. With arms, serves those again that were "
        "paused, with what was known of them.",
        "imabo resume support-answers 1",
        *STUDY,
        Argument("arms", ARMS.settings | {"nargs": "*"}),
    ),
    command(
        "control:roll_back",
        "serve the control to everyone, until imabo resume",
        "The kill switch: serves the control to everyone, on all servers. What was learned stays. "
        "A study without a control needs a configuration to serve.",
        "imabo roll-back support-answers model=large temperature=0.2 --reason complaints",
        *STUDY,
        takes(
            "config",
            "what to serve, where there is no control or another one is wanted; as imabo add "
            "takes it",
            metavar="CONFIG",
            nargs="*",
        ),
        takes("--reason", "why, for those who read the events", metavar="TEXT"),
        name="roll-back",
    ),
    command(
        "control:control",
        "what a share of the requests gets, to compare with",
        "Shows who gets the control. With a configuration (what you serve today) it sets it: each "
        "request flips a coin, and the share of it gets the control. --exposure says which share "
        "of the requests may be tuned, and the rest gets the control, too: exposure * (1 - share) "
        "of all requests are tuned. --margin rolls the study back when tuned is worse by "
        "more. Another configuration begins another comparison.",
        "imabo control support-answers model=large temperature=0.2 --share 0.1 --margin 0.05",
        *STUDY,
        takes("config", "as imabo add takes it", metavar="CONFIG", nargs="*"),
        flag("--random", "draws from P0 in place of a configuration"),
        takes("--share", "of the control (0.05)", type=float, metavar="P"),
        takes("--exposure", "share of the requests that may be tuned (1)", type=float, metavar="P"),
        takes("--margin", "of a guardrail, in units of what it watches", type=float, metavar="M"),
        takes("--watch", "a signal, in place of the reward; higher is worse", metavar="SIGNAL"),
        flag("--lower-is-worse", "of that signal"),
        flag("--no-guardrail", "take the guardrail away"),
        flag("--end", "serve no control any more"),
    ),
    command(
        "step_in:put_states",
        "stop serving arms for good",
        "Stops serving arms for good; their rewards still count in what is known. Only imabo add "
        "brings such a configuration back.",
        "imabo retire support-answers 3",
        *STUDY,
        ARMS,
        name="retire",
    ),
    command(
        "step_in:add",
        "serve a configuration of your own",
        "Admits a configuration by hand; it is served soon, because nothing is known of it. It "
        "is checked against the space first. One that is an arm already becomes active again. A "
        "JSON list of configurations adds all of them together, or none.",
        "imabo add support-answers model=large temperature=0.2",
        *STUDY,
        takes(
            "config",
            "a JSON object or a list of them, @FILE with either in it (@- for standard input), "
            "or pairs: name=value",
            metavar="CONFIG",
            nargs="+",
        ),
    ),
    command(
        "step_in:space",
        "print the space of a study, or change it",
        "Prints the space. With --set it moves the study on to another one while it runs: what "
        "was learned stays, and arms that the new space does not allow are retired. It shows "
        "which ones, and asks.\n\nTo edit a space: imabo space STUDY --json > space.json, change "
        "that file, and imabo space STUDY --set space.json.",
        "imabo space support-answers",
        *STUDY,
        takes("--set", "move on to the space in this JSON file (- for stdin)", metavar="FILE"),
        flag("--dry-run", "only show what --set would do"),
        flag("--yes", "do not ask"),
    ),
    command(
        "step_in:update",
        "change how long feedback is waited for, or the range of the rewards",
        "Changes settings of a study while it runs; what was learned stays, and every process that "
        "serves the study follows. The range of the rewards can change only before the first one. "
        "The policy, the oracle and the seed cannot: all decisions follow from them.",
        "imabo update support-answers --window-s 7200",
        *STUDY,
        takes(
            "--window-s",
            "seconds that a pull waits for its reward, or none for ever",
            type=number_or_none,
            default=argparse.SUPPRESS,
            metavar="S",
        ),
        takes(
            "--reward-range",
            "the ends of the rewards",
            type=float,
            nargs=2,
            default=argparse.SUPPRESS,
            metavar=("LOW", "HIGH"),
        ),
    ),
    command(
        "step_in:delete",
        "delete a study for good",
        "Deletes a study with everything that it learned. It asks for the name to be typed "
        "again, unless --yes is given.",
        "imabo delete support-answers --yes",
        *STUDY,
        flag("--yes", "do not ask for the name"),
    ),
]
_MOVE: Final = [
    command(
        "move:export",
        "write a study to a file",
        "Writes a study as JSON lines (everything that happened, for imabo import), or as CSV or "
        "Parquet (a row a request). The file appears when all of it is there.",
        "imabo export support-answers --out pulls.csv",
        *STUDY,
        takes(
            "--format",
            "by default what the file's name ends with, jsonl where it has no ending",
            choices=("jsonl", "csv", "parquet"),
        ),
        takes("--out", "standard output by default", metavar="FILE"),
    ),
    command(
        "move:import_log",
        "make a study from an exported log",
        "Makes a study again from the JSON lines of imabo export, in a database or on a service. "
        "Every decision is made again and compared with the log; when one differs, nothing is "
        "left behind.",
        "imabo import support-answers.jsonl --name copy",
        takes("file", "JSON lines of imabo export (- for stdin)", metavar="FILE"),
        takes("--name", "for the new study; by default the one in the log"),
        *PLACE,
        name="import",
    ),
    command(
        "move:report",
        "one HTML file of a study's figures, to send on",
        "Writes the figures of a study as one HTML file that needs nothing else.",
        "imabo report support-answers --out report.html",
        *STUDY,
        takes("--out", "the page to write", metavar="FILE", required=True),
    ),
]
_RUN: Final = [
    command(
        "run:demo",
        "tune a simulated assistant and watch it on the page",
        "Starts the service on a free port of this machine, opens its page, and sends it the "
        "requests of a simulated assistant. Its settings depend on each other, and its users rate "
        "the answers late or, mostly, never. Halfway one of its models gets worse, later a new one "
        "ships. It ends by itself with the lift over today's setting, and leaves the database.",
        "imabo demo --rounds 300 --seconds 5",
        takes(
            "--rounds",
            "requests to serve (%(default)s)",
            type=between(int, 100, 10**6, "_rounds", "100 to 1,000,000"),
            default=3000,
        ),
        takes(
            "--seconds",
            "how long they take together; 0 for as fast as it goes (75, or 0 with --embedded)",
            type=between(float, 0, 86_400, "_duration"),
        ),
        takes("--seed", "which users; those of a typical run by default", type=whole(0, 2**63 - 1)),
        takes(
            "--store",
            "where to keep the study (%(default)s); when there is one already, it stays and "
            "the new one gets a number",
            default="sqlite:///imabo-demo.db",
            metavar="URL",
        ),
        flag("--no-browser", "only print the address of the page"),
        flag("--embedded", "without the service and its page; needs nothing but imabo itself"),
        flag("--json", "the result as one JSON document; the story goes to standard error"),
    ),
    Command(
        "serve",
        "serve studies over HTTP",
        "",
        "imabo serve --store sqlite:///imabo.db --port 8766",
        load=_load_server,
    ),
    GATEWAY,
    Command(
        "keys",
        "access keys of the service: create, list, revoke",
        "",
        "imabo keys create --name dashboard --role reader",
        load=_load_server,
    ),
    Command(
        "webhook",
        "tell other services what happens: add, list, remove, deliveries, test",
        "",
        "imabo webhook list",
        load=_load_server,
    ),
    Command(
        "bench",
        "measure regret: problems, methods, claims",
        "",
        "imabo bench list",
        load=_load_bench,
    ),
    command(
        "run:completion",
        "the commands in your shell's tab key",
        "Prints a script that completes imabo's commands and options. For bash, put eval "
        '"$(imabo completion bash)" into ~/.bashrc.',
        "imabo completion bash",
        takes("shell", choices=SHELLS),
    ),
]

GROUPS: Final[list[tuple[str, list[Command]]]] = [
    ("look", _LOOK),
    ("step in", _STEP_IN),
    ("move", _MOVE),
    ("run", _RUN),
]
