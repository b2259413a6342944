"""An example: the official SDK's client with a recorded server. Run: pytest -p pytest_mcp_replay test_example.py"""

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

RECORDING = "../../../recordings/demo-server.mcprec"


def client(server):
    return Client(stdio_client(StdioServerParameters(command=server.command, args=server.args)), mode="legacy")


def test_all_of_it(mcp_replay):
    server = mcp_replay(RECORDING)
    told = []

    async def hear(progress, total, _message):
        told.append((progress, total))

    async def talk():
        async with client(server) as session:
            assert {tool.name for tool in (await session.list_tools()).tools} == {"forecast", "report"}
            oslo = await session.call_tool("forecast", {"city": "Oslo"})
            assert oslo.content[0].text == "Oslo: 7 degrees, rain in the afternoon"
            await session.call_tool("report", {"city": "Oslo"}, progress_callback=hear)
            assert (await session.call_tool("forecast", {"city": "Atlantis"})).is_error

    anyio.run(talk)
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_some_of_it(mcp_replay):
    server = mcp_replay(RECORDING, "--loose", "case", strict=False)

    async def talk():
        async with client(server) as session:
            oslo = await session.call_tool("forecast", {"city": "OSLO"})
            assert oslo.content[0].text == "Oslo: 7 degrees, rain in the afternoon"

    anyio.run(talk)
    assert server.asked[:2] == ["initialize", "tools/call forecast"]
    assert "tools/call report" in [unused["what"] for unused in server.report()["unused"]]
