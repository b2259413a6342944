"""A small server on the Python SDK of the first generation: python server.py [TRANSPORT]

TRANSPORT is `stdio` if none is named, or `streamable-http` or `sse`, on a port that the system chooses.
"""

import sys

from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

server = FastMCP("tap-test-server-1", instructions="Everything here is small.", port=0)


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


@server.tool()
async def order(context: Context) -> str:
    """Ask the user first."""
    answer = await context.elicit("Which flavour?", Wish)
    return f"{answer.data.flavour} it is" if answer.action == "accept" else answer.action


@server.resource("note://snowman")
def snowman() -> str:
    """A text that is not ASCII."""
    return "☃ a snowman, \u2028 and a line separator"


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Say hello to {name}."


server.run(sys.argv[1] if sys.argv[1:] else "stdio")
