"""An agent on Pydantic AI, whose model follows a script: python agent.py SCRIPT COMMAND ARGUMENTS… | URL

SCRIPT is a file: {"calls": [[TOOL, ARGUMENTS], …], "elicitation": {…}}. The model calls one tool after the other, and then says that it is done.
What is printed is what the model and the user get to see, a line of JSON each: the tools that are offered, what each call came
to, progress, and what the server asks the user.
"""

import asyncio
import json
import sys

from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


def show(**line):
    print(json.dumps(line, sort_keys=True, default=str), flush=True)


async def main(script_path, server):
    with open(script_path, encoding="utf-8") as file:
        script = json.load(file)
    calls = script["calls"]

    def model(messages, info):
        n_answered = sum(isinstance(message, ModelResponse) for message in messages)
        if n_answered == 0:
            show(step="tools", tools=[[tool.name, tool.parameters_json_schema] for tool in info.function_tools])
        else:
            for part in messages[-1].parts:
                if isinstance(part, ToolReturnPart):
                    show(step=n_answered, returned=part.model_response_str())
                elif isinstance(part, RetryPromptPart):
                    show(step=n_answered, retry=part.model_response())
        if n_answered < len(calls):
            name, arguments = calls[n_answered]
            return ModelResponse(parts=[ToolCallPart(name, arguments, tool_call_id=f"call-{n_answered}")])
        return ModelResponse(parts=[TextPart("done")])

    async def on_progress(progress, total, message):
        show(progress=progress, total=total, message=message)

    async def on_elicitation(message, response_type, params, context):
        show(asked=message)
        return ElicitResult(action="accept", content=script.get("elicitation"))

    is_url = server[0].startswith("http")
    transport = server[0] if is_url else StdioTransport(command=server[0], args=server[1:], keep_alive=False)
    toolset = MCPToolset(
        transport, max_retries=5, progress_handler=on_progress, elicitation_handler=on_elicitation
    )
    agent = Agent(FunctionModel(model), toolsets=[toolset])
    async with agent:
        result = await agent.run("Do what you do.")
        show(step="end", said=result.output)


asyncio.run(main(sys.argv[1], sys.argv[2:]))
