"""A real client, on the Python SDK as it comes: python client.py SCRIPT.json COMMAND ARGUMENTS…

It asks `server/discover` first, and falls back to `initialize`. SCRIPT and what is printed are as in ../node/client.mjs; it
knows fewer methods, of the capabilities only elicitation, and does not tell how the server ended.
"""

import json
import sys
from contextlib import asynccontextmanager

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client import session, stdio
from mcp.types import ElicitResult, Implementation

# What is told apart by patience would differ from run to run on a busy machine: whether a probe was answered, and whether
# the server ended by itself. The version is pinned, so these are there.
session.DISCOVER_TIMEOUT_SECONDS = 60
stdio.PROCESS_TERMINATION_TIMEOUT = 60

script_path, command, *arguments = sys.argv[1:]
with open(script_path, encoding="utf-8") as file:
    script = json.load(file)


def show(line):
    print(json.dumps(canonical(line), sort_keys=True), flush=True)


def canonical(value):
    """Replaces what is sealed with a key that each server process makes for itself."""
    if isinstance(value, list):
        return [canonical(member) for member in value]
    if isinstance(value, dict):
        return {key: "<state>" if key == "requestState" else canonical(member) for key, member in value.items()}
    return value


@asynccontextmanager
async def overheard(parameters):
    """The SDK's stdio transport, with each message of the server's shown on its way."""
    async with stdio.stdio_client(parameters) as (read, write):
        inlet, outlet = anyio.create_memory_object_stream(0)

        async def pass_on():
            async with inlet:
                async for item in read:
                    show({"message": item.message.model_dump(mode="json", by_alias=True, exclude_unset=True)})
                    await inlet.send(item)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pass_on)
            yield outlet, write
            tasks.cancel_scope.cancel()


async def elicit(_context, params):
    return ElicitResult(action="accept", content={name: "words" for name in params.requested_schema["properties"]})


async def heard(*_):
    """What is asked for so that it is sent; it was shown when it came."""


async def ask(client, method, params, options):
    extra = {"progress_callback": heard} if options.get("progress") else {}
    match method:
        case "tools/list":
            await client.list_tools()
        case "tools/call":
            await client.call_tool(params["name"], params.get("arguments"), **extra)
        case "resources/list":
            await client.list_resources()
        case "resources/read":
            await client.read_resource(params["uri"])
        case "prompts/list":
            await client.list_prompts()
        case "prompts/get":
            await client.get_prompt(params["name"], params.get("arguments"))
        case _:
            raise SystemExit(f"{method} is not known here")


async def main():
    parameters = StdioServerParameters(command=command, args=arguments, env=script.get("environment"))
    client = Client(
        overheard(parameters),
        client_info=Implementation(name="tap-test-client", version="1.0.0"),
        elicitation_callback=elicit if "elicitation" in script.get("capabilities", {}) else None,
        logging_callback=heard,
        log_level="info",
    )
    async with client:
        show({"revision": client.protocol_version, "server": client.server_info.name})
        for method, *rest in script["steps"]:
            params, options = (*rest, {}, {})[:2]
            try:
                await ask(client, method, params, options)
                show({"step": method})
            except MCPError as error:
                show({"step": method, "error": {"code": error.error.code, "message": error.error.message}})


anyio.run(main)
