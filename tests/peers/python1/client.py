"""A real client, on the Python SDK of the first generation: python client.py SCRIPT.json COMMAND ARGUMENTS… | URL

SCRIPT and what is printed are as in ../node/client.mjs; it knows fewer methods, and of the capabilities only elicitation.
"""

import json
import sys

import anyio
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client import stdio
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import ElicitResult, Implementation

# Whether the server ended by itself is told apart by patience. The version is pinned, so this is there.
stdio.PROCESS_TERMINATION_TIMEOUT = 60

script_path, command, *arguments = sys.argv[1:]
with open(script_path, encoding="utf-8") as file:
    script = json.load(file)


def show(line):
    print(json.dumps(line, sort_keys=True), flush=True)


def dumped(model):
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


async def overhear(message):
    """Shows what the server sends of its own accord."""
    if not isinstance(message, Exception):
        show({"message": dumped(message.root if hasattr(message, "root") else message.request.root)})


async def elicit(_context, params):
    return ElicitResult(action="accept", content={name: "words" for name in params.requestedSchema["properties"]})


async def heard(*_):
    """What is asked for so that it is sent; it was shown when it came."""


async def ask(client, method, params, options):
    extra = {"progress_callback": heard} if options.get("progress") else {}
    match method:
        case "ping":
            return await client.send_ping()
        case "tools/list":
            return await client.list_tools()
        case "tools/call":
            return await client.call_tool(params["name"], params.get("arguments"), **extra)
        case "resources/list":
            return await client.list_resources()
        case "resources/read":
            return await client.read_resource(params["uri"])
        case "prompts/list":
            return await client.list_prompts()
        case "prompts/get":
            return await client.get_prompt(params["name"], params.get("arguments"))
        case _:
            raise SystemExit(f"{method} is not known here")


def transport():
    if not command.startswith("http"):
        return stdio.stdio_client(StdioServerParameters(command=command, args=arguments, env=script.get("environment")))
    return (sse_client if script.get("transport") == "sse" else streamablehttp_client)(command)


async def main():
    async with transport() as (read, write, *_):
        session = ClientSession(
            read,
            write,
            client_info=Implementation(name="tap-test-client", version="1.0.0"),
            elicitation_callback=elicit if "elicitation" in script.get("capabilities", {}) else None,
            message_handler=overhear,
        )
        async with session:
            greeting = await session.initialize()
            show({"revision": greeting.protocolVersion, "server": greeting.serverInfo.name})
            for method, *rest in script["steps"]:
                params, options = (*rest, {}, {})[:2]
                line = {"step": method, "target": params.get("name", str(params.get("uri", "")) or None)}
                try:
                    line["result"] = dumped(await ask(session, method, params, options))
                except McpError as error:
                    line["error"] = {"code": error.error.code, "message": error.error.message}
                show(line)


anyio.run(main)
