"""A small server on the Python SDK, which speaks both eras, initialize and 2026-07-28: python server.py [TRANSPORT]

TRANSPORT is `stdio` if none is named, or `streamable-http` or `sse`, on a port that the system chooses.
"""

import sys
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from pydantic import BaseModel

server = MCPServer("tap-test-server", version="1.0.0", instructions="Everything here is small.")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Always fail."""
    raise ValueError("it always fails")


@server.tool()
async def progress(n: int, context: Context) -> str:
    """Tell of progress n times."""
    for step in range(n):
        await context.report_progress(step + 1, n, f"step {step + 1}")
    return "done"


@server.tool()
async def log(text: str, context: Context) -> str:
    """Send a log message."""
    await context.info(text)
    return "logged"


class Wish(BaseModel):
    flavour: str


def wish() -> Elicit[Wish]:
    return Elicit("Which flavour?", Wish)


@server.tool()
def order(wish: Annotated[Wish, Resolve(wish)]) -> str:
    """Ask the user first: a request of the server's in one era, a result that wants an answer in the other."""
    return f"{wish.flavour} it is"


@server.resource("note://snowman")
def snowman() -> str:
    """A text that is not ASCII."""
    return "☃ a snowman, \u2028 and a line separator"


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Say hello to {name}."


match sys.argv[1:]:
    case ["streamable-http" | "sse" as transport]:
        server.run(transport, port=0)
    case _:
        server.run("stdio")
