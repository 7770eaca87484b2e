"""The commands, in the groups and with the words and examples of their help."""

from __future__ import annotations

from typing import Final

from imabo.cli import arguments
from imabo.cli.parser import Command, Subparsers


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


_READING: Final = "imabo.cli.reading:"
_CHANGING: Final = "imabo.cli.changing:"

GROUPS: Final[list[tuple[str, list[Command]]]] = [
    (
        "look",
        [
            Command(
                "studies",
                "the studies there are",
                "Lists the studies of a database, or those of a service that the key may see.",
                "imabo studies",
                arguments.add_place,
                f"{_READING}studies",
            ),
            Command(
                "show",
                "a study: its key figures and its best arms",
                "Shows how far a study has come: requests and feedback, the reward lately beside "
                "that of serving at random, the arms with the highest means, and what happened "
                "to it last.",
                "imabo show support-answers --top 5",
                arguments.show,
                f"{_READING}show",
            ),
            Command(
                "arms",
                "the arms of a study, sorted and filtered",
                "Lists arms with their mean reward, an interval for it and their share of the "
                "traffic. Arms without rewards come last.",
                "imabo arms support-answers --state active --sort n_rewards",
                arguments.arms,
                f"{_READING}arms",
            ),
            Command(
                "best",
                "the configuration to keep if learning stopped now",
                "Shows the arm to keep if learning stopped now, with an interval for its mean. "
                "An arm that was lucky with a few rewards is not it.",
                "imabo best support-answers --json",
                arguments.best,
                f"{_READING}best",
            ),
            Command(
                "events",
                "what happened to a study, the newest last",
                "Lists what happened to a study apart from requests and rewards: arms that were "
                "added, paused, resumed or retired by hand, changes of the space, and changes of "
                "the rewards that the study noticed by itself (drift).",
                "imabo events support-answers --limit 20",
                arguments.events,
                f"{_READING}events",
            ),
            Command(
                "watch",
                "a study live in the terminal",
                "Follows a study: key figures, the reward over time, the best arms, the newest "
                "change that was noticed. It ends with q or Ctrl-C, or by itself with --count. "
                "Where the output is no terminal it writes a line a look; with --json, a JSON "
                "document a line.",
                "imabo watch support-answers --every 1 --count 2",
                arguments.watch,
                "imabo.cli.watching:watch",
            ),
        ],
    ),
    (
        "step in",
        [
            Command(
                "pause",
                "stop serving arms until they are resumed",
                "Stops serving arms until imabo resume; what is known of them stays.",
                "imabo pause support-answers 1 2",
                arguments.state,
                f"{_CHANGING}pause",
            ),
            Command(
                "resume",
                "serve paused arms again",
                "Serves paused arms again, with what was known of them.",
                "imabo resume support-answers 1",
                arguments.state,
                f"{_CHANGING}resume",
            ),
            Command(
                "retire",
                "stop serving arms for good",
                "Stops serving arms for good; their rewards still count in what is known. Only "
                "imabo add brings such a configuration back.",
                "imabo retire support-answers 3",
                arguments.state,
                f"{_CHANGING}retire",
            ),
            Command(
                "add",
                "serve a configuration of your own",
                "Admits a configuration by hand; it is served soon, because nothing is known of "
                "it. It is checked against the space first. One that is an arm already becomes "
                "active again. A JSON list of configurations adds all of them together, or none.",
                "imabo add support-answers model=large temperature=0.2",
                arguments.add,
                f"{_CHANGING}add",
            ),
            Command(
                "space",
                "print the space of a study, or change it",
                "Prints the space. With --set it moves the study on to another one while it runs: "
                "what was learned stays, and arms that the new space does not allow are retired. "
                "It shows which ones, and asks.\n\nTo edit a space: imabo space STUDY --json > "
                "space.json, change that file, and imabo space STUDY --set space.json.",
                "imabo space support-answers",
                arguments.space,
                f"{_CHANGING}space",
            ),
            Command(
                "delete",
                "delete a study for good",
                "Deletes a study with everything that it learned. It asks for the name to be "
                "typed again, unless --yes is given.",
                "imabo delete support-answers --yes",
                arguments.delete,
                f"{_CHANGING}delete",
            ),
        ],
    ),
    (
        "move",
        [
            Command(
                "export",
                "write a study to a file",
                "Writes a study as JSON lines (everything that happened, for imabo import) or as "
                "CSV (a row a request). The file appears when all of it is there.",
                "imabo export support-answers --out pulls.csv",
                arguments.export,
                "imabo.cli.moving:export",
            ),
            Command(
                "import",
                "make a study from an exported log",
                "Makes a study again from the JSON lines of imabo export, in a database or on a "
                "service. Every decision is made again and compared with the log; when one "
                "differs, nothing is left behind.",
                "imabo import support-answers.jsonl --name copy",
                arguments.import_log,
                "imabo.cli.importing:import_log",
            ),
            Command(
                "report",
                "one HTML file of a study's figures, to send on",
                "Writes the figures of a study as one HTML file that needs nothing else.",
                "imabo report support-answers --out report.html",
                arguments.report,
                "imabo.cli.moving:report",
            ),
        ],
    ),
    (
        "run",
        [
            Command(
                "demo",
                "tune a simulated assistant and watch it on the page",
                "Starts the service on a free port of this machine, opens its page, and sends it "
                "the requests of a simulated assistant. Its settings depend on each other, its "
                "users rate the answers late or, mostly, never, and halfway a new model ships. It "
                "ends by itself, ends the service, and leaves the database.",
                "imabo demo --rounds 300 --seconds 5",
                arguments.demo,
                "imabo.cli.running:demo",
            ),
            Command(
                "serve",
                "serve studies over HTTP",
                "",
                "imabo serve --store sqlite:///imabo.db --port 8766",
                load=_load_server,
            ),
            Command(
                "keys",
                "access keys of the service: create, list, revoke",
                "",
                "imabo keys create --name dashboard --role reader",
                load=_load_server,
            ),
            Command(
                "bench",
                "measure regret: problems, methods, claims",
                "",
                "imabo bench list",
                load=_load_bench,
            ),
            Command(
                "completion",
                "the commands in your shell's tab key",
                "Prints a script that completes imabo's commands and options. For bash, put "
                'eval "$(imabo completion bash)" into ~/.bashrc.',
                "imabo completion bash",
                arguments.completion,
                "imabo.cli.running:completion",
            ),
        ],
    ),
]
