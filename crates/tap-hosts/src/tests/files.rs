//! Configurations as hosts and their users write them, and what they say.

use crate::{Format, Shape};

/// A file's name, its text, how it is written, and what is read of it.
pub(super) type File = (&'static str, &'static str, Format, Shape, &'static str);

pub(super) const HOSTS: &[File] = &[
    (
        "claude_desktop_config.json",
        r#"{
  "globalShortcut": "",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/src"]
    },
    "weather": { "command": "/opt/weather/bin/serve" },
    "empty": {"command": "uvx", "args": [], "env": {"API_KEY": "k-12345", "LEVEL": 3}}
  }
}
"#,
        Format::Json,
        Shape::McpServers,
        r#"4:mcpServers.filesystem filesystem = npx ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/src"]
8:mcpServers.weather weather = /opt/weather/bin/serve []
9:mcpServers.empty empty = uvx [] API_KEY=k-12345 LEVEL=3
"#,
    ),
    (
        ".claude.json",
        r#"{
  "numStartups": 41,
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.example.com/mcp/",
      "headers": {
        "Authorization": "Bearer ${GITHUB_TOKEN}",
        "X-Team": "tools"
      }
    }
  },
  "projects": {
    "/home/me/src": {
      "allowedTools": [],
      "mcpServers": {
        "local": {
          "type": "stdio",
          "command": "node",
          "args": [
            "server.js"
          ],
          "env": {}
        }
      },
      "hasTrustDialogAccepted": true
    },
    "/home/me": { "mcpServers": {} }
  }
}"#,
        Format::Json,
        Shape::ClaudeCode,
        r#"4:mcpServers.github github = https://api.example.com/mcp/ Some("http") Authorization: Bearer ${GITHUB_TOKEN} X-Team: tools
17:projects./home/me/src.mcpServers.local local in /home/me/src = node ["server.js"]
"#,
    ),
    (
        ".cursor/mcp.json",
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"db\": {\r\n\t\t\t\"command\": \"python\",\r\n\t\t\t\"args\": [\r\n\t\t\t\t\"${workspaceFolder}/db.py\"\r\n\t\t\t],\r\n\t\t\t\"env\": { \"URL\": \"${env:URL}\" }\r\n\t\t},\r\n\t\t\"web\": { \"url\": \"http://localhost:3000/sse\" }\r\n\t}\r\n}\r\n",
        Format::Json,
        Shape::McpServers,
        r#"3:mcpServers.db db = python ["${workspaceFolder}/db.py"] URL=${env:URL}
10:mcpServers.web web = http://localhost:3000/sse None
"#,
    ),
    (
        ".vscode/mcp.json",
        r#"{
    // asked for once, then kept
    "inputs": [
        { "type": "promptString", "id": "key", "description": "API key", "password": true },
    ],
    "servers": {
        "search": {
            "type": "stdio",
            "command": "npx", /* from npm */
            "args": ["-y", "search-mcp"], // no version
            "env": { "KEY": "${input:key}" },
            "envFile": "${workspaceFolder}/.env",
            "cwd": "${workspaceFolder}",
            "dev": { "watch": "src/**" },
        },
        "docs": { "type": "http", "url": "https://docs.example.com/mcp", "headers": { "X-Key": "${input:key}" } },
    },
}
"#,
        Format::Json,
        Shape::VsCode,
        r#"7:servers.search search = npx ["-y", "search-mcp"] KEY=${input:key} in ${workspaceFolder} env from ${workspaceFolder}/.env + dev
16:servers.docs docs = https://docs.example.com/mcp Some("http") X-Key: ${input:key}
"#,
    ),
    (
        "settings.json",
        "{\n  \"editor.fontSize\": 13,\n  // tools\n  \"mcp\": {\n    \"inputs\": [],\n    \"servers\": {\"fetch\": {\"command\": \"uvx\", \"args\": [\"mcp-server-fetch\"]}}\n  },\n}\n",
        Format::Json,
        Shape::VsCodeSettings,
        "6:mcp.servers.fetch fetch = uvx [\"mcp-server-fetch\"]\n",
    ),
    (
        "mcp_config.json",
        "\u{feff}{\"mcpServers\":{\"remote\":{\"serverUrl\":\"https://example.com/sse\",\"headers\":{\"API_KEY\":\"${env:KEY}\"},\"disabledTools\":[\"rm\"]},\"off\":{\"command\":\"x\",\"disabled\":true}}}",
        Format::Json,
        Shape::McpServers,
        "1:mcpServers.remote remote = https://example.com/sse None API_KEY: ${env:KEY} + disabledTools\n1:mcpServers.off off off = x []\n",
    ),
    (
        "config.toml",
        r#"model = "o4"   # the model

[mcp_servers.fs]
command = "npx"  # from npm
args = [
  "-y", # yes
  '@modelcontextprotocol/server-filesystem',
  "/home/me/src",
]
startup_timeout_sec = 20
env_vars = ["HOME"]

  [mcp_servers.fs.env]
  LEVEL = "debug"

[mcp_servers.bare]
command = 'serve'

[mcp_servers."with space"]
url = "https://example.com/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { "X-Team" = "tools" }
enabled = false

[mcp_servers.inline]
command = "uvx"
args = []
env = { A = "1" }

[profiles.x]
model = "y"
"#,
        Format::Toml,
        Shape::Codex,
        r#"3:mcp_servers.fs fs = npx ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/src"] LEVEL=debug passes ["HOME"] + startup_timeout_sec
16:mcp_servers.bare bare = serve []
19:mcp_servers.with space with space off = https://example.com/mcp None X-Team: tools bearer TOKEN
25:mcp_servers.inline inline = uvx [] A=1
"#,
    ),
    (
        "dotted.toml",
        "mcp_servers.a.command = \"x\"\r\nmcp_servers.a.args = [\"1\"]\r\nmcp_servers.b = { command = \"y\" }\r\n",
        Format::Toml,
        Shape::Codex,
        "1:mcp_servers.a a = x [\"1\"]\n3:mcp_servers.b b = y []\n",
    ),
    (
        "gemini.json",
        r#"{"mcpServers": {"a": {"httpUrl": "https://example.com/mcp", "headers": {"Authorization": "Bearer $TOKEN"}, "timeout": 5000, "trust": true},
  "b": {"command": "$HOME/b", "cwd": "./srv", "includeTools": ["x"]}, "c": {"url": "http://localhost/sse", "type": "sse"}}}"#,
        Format::Json,
        Shape::McpServers,
        r#"1:mcpServers.a a = https://example.com/mcp None Authorization: Bearer $TOKEN + timeout trust
2:mcpServers.b b = $HOME/b [] in ./srv + includeTools
2:mcpServers.c c = http://localhost/sse Some("sse")
"#,
    ),
    (
        "opencode.jsonc",
        r#"{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "every": { "type": "local", "command": ["npx", "-y", "everything"], "environment": { "A": "{env:A}" }, "enabled": true },
    "far": { "type": "remote", "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer {env:KEY}" }, "enabled": false },
    "one": { "type": "local", "command": [ "serve" ] }, // alone
  },
}
"#,
        Format::Json,
        Shape::Opencode,
        r#"4:mcp.every every = npx ["-y", "everything"] A={env:A}
5:mcp.far far off = https://example.com/mcp Some("remote") Authorization: Bearer {env:KEY}
6:mcp.one one = serve []
"#,
    ),
    (
        "zed.json",
        r#"// Zed settings
{
  "context_servers": {
    "new": { "source": "custom", "command": "npx", "args": ["-y", "x"], "env": {} },
    "old": { "command": { "path": "node", "args": ["s.js"], "env": { "A": "b" } }, "settings": {} },
    "ext": { "source": "extension", "settings": {} },
    "web": { "url": "https://example.com/mcp" }
  },
  "theme": "One Dark"
}
"#,
        Format::Json,
        Shape::Zed,
        r#"4:context_servers.new new = npx ["-y", "x"] + source
5:context_servers.old old = node ["s.js"] A=b + settings
6:context_servers.ext ext = other extension + source settings
7:context_servers.web web = https://example.com/mcp None
"#,
    ),
    (
        "cline_mcp_settings.json",
        r#"{
  "mcpServers": {
    "s": {
      "autoApprove": [],
      "disabled": true,
      "timeout": 60,
      "type": "streamableHttp",
      "url": "https://example.com/mcp"
    }
  }
}"#,
        Format::Json,
        Shape::McpServers,
        r#"3:mcpServers.s s off = https://example.com/mcp Some("streamableHttp") + autoApprove timeout
"#,
    ),
    (
        "continue.yaml",
        r#"name: Mine
version: 0.0.1
mcpServers:
  - name: Files
    command: npx
    args:
      - "-y"
      - '@modelcontextprotocol/server-filesystem'
    env:
      KEY: ${{ secrets.KEY }}
  - name: Bare   # no arguments
    command: serve
  - { name: Flow, command: uvx, args: [mcp-server-fetch] }
  - name: Far
    type: sse
    url: https://example.com/sse
"#,
        Format::Yaml,
        Shape::Continue,
        r#"4:mcpServers[0] Files = npx ["-y", "@modelcontextprotocol/server-filesystem"] KEY=${{ secrets.KEY }} + name
11:mcpServers[1] Bare = serve [] + name
13:mcpServers[2] Flow = uvx ["mcp-server-fetch"] + name
14:mcpServers[3] Far = https://example.com/sse Some("sse") + name
"#,
    ),
    (
        "goose.yaml",
        r#"GOOSE_PROVIDER: anthropic
extensions:
  developer:
    bundled: true
    enabled: true
    type: builtin
  fetch:
    args:
    - mcp-server-fetch
    - --ignore-robots-txt
    cmd: uvx
    enabled: true
    envs: {}
    env_keys: [KEY]
    name: fetch
    timeout: 300
    type: stdio
  flow: {type: stdio, cmd: "npx", args: [ -y, 'x y' ], enabled: false}
  größe:
    type: streamable_http
    uri: https://example.com/mcp
    headers:
      Authorization: Bearer abc
    envs: {}
GOOSE_MODEL: x
"#,
        Format::Yaml,
        Shape::Goose,
        r#"3:extensions.developer developer = other builtin + bundled
7:extensions.fetch fetch = uvx ["mcp-server-fetch", "--ignore-robots-txt"] + env_keys name timeout
18:extensions.flow flow off = npx ["-y", "x y"]
19:extensions.größe größe = https://example.com/mcp Some("streamable_http") Authorization: Bearer abc
"#,
    ),
];
