"""Recorded MCP servers in pytest: the fixture `mcp_replay`.

    def test_mine(mcp_replay):
        server = mcp_replay("weather.mcprec")
        ...  # give `server.command` and `server.args` to a client, and close that

When the test is over it fails if the client asked what was not recorded, or did not ask all that was; with
`mcp_replay(FILE, strict=False)` it does not, and `server.report()` says what happened. Options of `mcp-tap replay` follow
the file: `mcp_replay("weather.mcprec", "--loose", "case")`. The program is `mcp-tap`, or what MCP_TAP in the environment
says. FILE is looked for beside the test, then from the current folder.
"""

import json
import os
import shutil
import tempfile
import time
import unicodedata
from pathlib import Path

import pytest

REPORT_LIMIT_SECONDS = 20


class Replay:
    """A recording as the command of a server, for one client."""

    def __init__(self, file, options, strict):
        self.folder = Path(tempfile.mkdtemp(prefix="mcp-replay-"))
        self.strict = strict
        self.command = os.environ.get("MCP_TAP", "mcp-tap")
        self.args = ["replay", str(file), "--report", str(self._report_path()), *options]

    def _report_path(self):
        return self.folder / "report.json"

    def report(self):
        """What the client did, as `mcp-tap replay --report` writes it: `asked`, `misses`, `unused` and more.

        The server writes it when its stdin is closed, so the client has to be closed first.
        """
        limit = time.monotonic() + REPORT_LIMIT_SECONDS
        # Renamed into place when it is whole.
        while not self._report_path().exists():
            if time.monotonic() > limit:
                words = " ".join([self.command, *self.args])
                raise AssertionError(f"no report from `{words}`: was it started, and has its client been closed?")
            time.sleep(0.01)
        return json.loads(self._report_path().read_text(encoding="utf-8"))

    @property
    def asked(self):
        """The client's requests in order, such as `tools/call forecast`."""
        return self.report()["asked"]

    def check(self):
        """Fails when the client did not do what was recorded, no more and no less."""
        report = self.report()
        told = [miss["text"].rstrip("\n") for miss in report["misses"]]
        for unused in report["unused"]:
            line = f" (line {unused['line']})" if unused["line"] else ""
            told.append(f"never asked: {unused['what']}{line}")
        if told:
            pytest.fail(_safe("\n".join(told)), pytrace=False)


def _safe(text):
    """Without characters that act on a terminal: what was recorded is not to be trusted."""
    hidden = ("Cc", "Cf", "Zl", "Zp")
    return "".join(c if c == "\n" or unicodedata.category(c) not in hidden else ascii(c)[1:-1] for c in text)


@pytest.fixture
def mcp_replay(request):
    """Gives recordings as commands of servers, and checks at the end that each was played as recorded."""
    replays = []

    def start(file, *options, strict=True):
        beside = request.path.parent / file
        replays.append(Replay(beside if beside.exists() else Path(file).absolute(), options, strict))
        return replays[-1]

    yield start
    try:
        for replay in replays:
            if replay.strict:
                replay.check()
    finally:
        for replay in replays:
            shutil.rmtree(replay.folder, ignore_errors=True)
