"""A real client, on the Python SDK as it comes: python client.py SCRIPT.json COMMAND ARGUMENTS… | URL

It asks `server/discover` first, and falls back to `initialize`, unless {"mode": "legacy"} or a revision is in SCRIPT. SCRIPT and what is printed are as in ../node/client.mjs; it
knows fewer methods, of the capabilities only elicitation, and does not tell how the server ended.
"""

import json
import sys
from contextlib import asynccontextmanager

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client import session, sse, stdio, streamable_http
from mcp.types import ElicitResult, Implementation

# What is told apart by patience would differ from run to run on a busy machine: whether a probe was answered, and whether
# the server ended by itself. The version is pinned, so these are there.
session.DISCOVER_TIMEOUT_SECONDS = 60
stdio.PROCESS_TERMINATION_TIMEOUT = 60

script_path, command, *arguments = sys.argv[1:]
is_remote = command.startswith("http")
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


def transport():
    if not is_remote:
        return stdio.stdio_client(StdioServerParameters(command=command, args=arguments, env=script.get("environment")))
    if script.get("transport") == "sse":
        return sse.sse_client(command)
    return streamable_http.streamable_http_client(command)


@asynccontextmanager
async def overheard():
    """The SDK's transport, with each message of the server's shown on its way."""
    async with transport() as (read, write):
        inlet, outlet = anyio.create_memory_object_stream(0)

        async def pass_on():
            async with inlet:
                async for item in read:
                    # What is no message is an error of the transport, which the SDK tells in its own way.
                    if hasattr(item, "message"):
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


def step(method, params, outcome):
    """What became of a step. Over HTTP the order of messages alone does not tell, since they come on several streams."""
    if not is_remote:
        return {"step": method} | ({"error": outcome["error"]} if "error" in outcome else {})
    return {"step": method, "target": params.get("name", params.get("uri"))} | outcome


async def main():
    client = Client(
        overheard(),
        mode=script.get("mode", "auto"),
        client_info=Implementation(name="tap-test-client", version="1.0.0"),
        elicitation_callback=elicit if "elicitation" in script.get("capabilities", {}) else None,
        logging_callback=heard,
        log_level="info",
    )
    async with client:
        # Nobody has said who the server is when a revision was chosen without asking.
        show({"revision": client.protocol_version, "server": getattr(client.server_info, "name", None)})
        for method, *rest in script["steps"]:
            params, options = (*rest, {}, {})[:2]
            try:
                result = await ask(client, method, params, options)
                outcome = {"result": result.model_dump(mode="json", by_alias=True, exclude_unset=True)}
            except MCPError as error:
                outcome = {"error": {"code": error.error.code, "message": error.error.message}}
            show(step(method, params, outcome))


anyio.run(main)
