"""`lagwarden explain`, and the errors of `lagwarden top` before it draws."""

import json
import urllib.request

from exporters.readmodel import OtherInstance
from stream.errors import ExitCode
from tests.exporters.serving import SMALL, serving
from tests.stream.cli.command_line import CommandLine


def test_group_is_explained_in_plain_lines(url: str, command: CommandLine) -> None:
    """The output has no colours and no wrapped lines without a terminal. Notes are printed on stderr."""
    command.run("explain", "billing", "--url", url)
    assert command.out.startswith("billing: stopped (critical) for 30 s.\norders-0 has had no commit")
    assert "\x1b" not in command.out
    assert "these numbers are" in command.err


def test_json_is_the_answer_of_the_api(url: str, command: CommandLine) -> None:
    """`--json` prints the whole answer of the API with the finding of the group and those of its partitions."""
    answer = command.json("explain", "billing", "--url", url)
    with urllib.request.urlopen(f"{url}/api/v1/group?name=billing") as response:  # noqa: S310 -- the server of the test
        assert answer == json.load(response)
    assert answer["finding"]["verdict"] == "stopped"
    assert len(answer["findings"]) == 2


def test_no_instance_answers(command: CommandLine) -> None:
    """The advice does not name --capture: these commands read no captures. `top` draws nothing in a pipe."""
    for verb, code in ((["explain", "billing"], ExitCode.NO_INSTANCE), (["top"], ExitCode.USAGE)):
        error = command.fails(*verb, "--url", "http://127.0.0.1:9", code=code)
        assert "--capture" not in error
        assert len(error.splitlines()) == 1
    assert "needs a terminal" in error
    assert "`lagwarden groups`" in error


def test_a_group_of_another_instance_names_its_address(command: CommandLine) -> None:
    """The error names the instance to request, and the command for it."""
    with serving(SMALL, other_instance=lambda _: OtherInstance("1/3", "http://other:10848")) as server:
        address = f"http://127.0.0.1:{server.port}"
        error = command.fails("explain", "elsewhere", "--url", address, code=ExitCode.NO_SUCH_GROUP)
    assert "instance 1/3 monitors groups named elsewhere, not this one" in error
    assert "use --url http://other:10848" in error
