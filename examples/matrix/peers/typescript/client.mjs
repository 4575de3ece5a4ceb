// Client made with the TypeScript SDK: `node client.mjs REVISION stdio|http|sse TARGET`.
// TARGET is the words of a command as a JSON array, or a URL.

import {
  Client,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const SHELF = "matrix-shelf";
const LIMIT_MS = 20_000;

const [revision, transport, target] = process.argv.slice(2);
const hasHandshake = SUPPORTED_PROTOCOL_VERSIONS.includes(revision);
const hasElicitation = !["2024-11-05", "2025-03-26"].includes(revision);

const reach = {
  stdio: () => {
    const [command, ...args] = JSON.parse(target);
    return new StdioClientTransport({ command, args });
  },
  http: () => new StreamableHTTPClientTransport(new URL(target)),
  sse: () => new SSEClientTransport(new URL(target)),
};

class NotTested extends Error {}

const tell = (conversation, verdict, why = "") =>
  console.log(JSON.stringify({ conversation, verdict, why }));

function expect(expected, came) {
  const [wanted, got] = [JSON.stringify(expected), JSON.stringify(came)];
  if (wanted !== got) throw new Error(`expected ${wanted}, got ${got}`);
}

const client = new Client(
  { name: "matrix", version: "1.0.0" },
  {
    capabilities: { elicitation: { form: {} } },
    ...(hasHandshake
      ? { supportedProtocolVersions: [revision], versionNegotiation: { mode: "legacy" } }
      : { versionNegotiation: { mode: { pin: revision } } }),
  },
);
client.setRequestHandler("elicitation/create", async () => ({
  action: "accept",
  content: { title: "Emma" },
}));

const names = async () => (await client.listTools()).tools.map((tool) => tool.name);
const uris = async () => (await client.listResources()).resources.map((one) => one.uri);
const templates = async () =>
  (await client.listResourceTemplates()).resourceTemplates.map((one) => one.uriTemplate);
const prompts = async () => (await client.listPrompts()).prompts.map((one) => one.name);

function need(capability, ofShelf = true) {
  if (client.getServerCapabilities()?.[capability] === undefined) {
    throw new NotTested(`the server has no ${capability}`);
  }
  if (ofShelf && client.getServerVersion()?.name !== SHELF) {
    throw new NotTested(`it is for servers of the name '${SHELF}'`);
  }
}

const once = (found) => expect([...new Set(found)], found);

async function call(name, values = {}, options) {
  need("tools");
  return client.callTool({ name, arguments: values }, options);
}

const read = async (uri) => (await client.readResource({ uri })).contents[0].text;

async function refuse(promise) {
  let result;
  try {
    result = await promise;
  } catch (error) {
    if (error instanceof NotTested) throw error;
    return;
  }
  if (result.isError !== true) throw new Error(`expected an error, got ${JSON.stringify(result)}`);
}

const conversations = {
  identity: async () => {
    if (!client.getServerVersion()?.name) throw new Error("the server has not said its name");
  },
  "list tools": async () => {
    need("tools", false);
    once(await names());
  },
  "list resources": async () => {
    need("resources", false);
    once(await uris());
    once(await templates());
  },
  "list prompts": async () => {
    need("prompts", false);
    once(await prompts());
  },
  "call a tool": async () => {
    const result = await call("add", { a: 1, b: 2 });
    expect(["3", false], [result.content[0].text, result.isError === true]);
  },
  "structured result": async () => {
    const result = await call("count");
    expect(false, result.isError === true);
    expect({ titles: 3 }, result.structuredContent ?? JSON.parse(result.content[0].text));
  },
  progress: async () => {
    const seen = [];
    const onprogress = ({ progress }) => seen.push(progress);
    const result = await call("scan", { shelves: 3 }, { onprogress });
    expect("3 shelves", result.content[0].text);
    // What was sent before the result may be handled after it.
    for (let turn = 0; turn < 50 && seen.length < 3; turn += 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    if (seen.length < 3) throw new Error("fewer than 3 reports of progress came");
    expect([1, 2, 3], seen);
  },
  "tool error": async () => {
    const result = await call("lend", { title: "Emma" });
    expect([true, true], [result.isError, result.content[0].text.includes("Emma")]);
  },
  "wrong arguments": () => refuse(call("add", { a: "one", b: 2 })),
  "unknown tool": async () => {
    need("tools", false);
    await refuse(client.callTool({ name: "no-such-tool", arguments: {} }));
  },
  elicitation: async () => {
    if (!hasElicitation) throw new NotTested("the revision has no elicitation");
    expect("chose Emma", (await call("choose")).content[0].text);
  },
  "read a resource": async () => {
    need("resources");
    expect("Bring it back.", await read("shelf://rules"));
  },
  "resource template": async () => {
    need("resources");
    expect("title 7", await read("shelf://titles/7"));
  },
  "unknown resource": async () => {
    need("resources", false);
    await refuse(client.readResource({ uri: "nowhere://at-all" }));
  },
  prompt: async () => {
    need("prompts");
    const found = await client.getPrompt({ name: "recommend", arguments: { reader: "Ada" } });
    expect("Recommend a title to Ada.", found.messages[0].content.text);
  },
};

const timeout = () =>
  new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`no answer in ${LIMIT_MS / 1000} s`)), LIMIT_MS).unref();
  });

await client.connect(reach[transport]());
tell("connect", "passed");
for (const [name, converse] of Object.entries(conversations)) {
  try {
    await Promise.race([converse(), timeout()]);
    tell(name, "passed");
  } catch (error) {
    tell(name, error instanceof NotTested ? "not tested" : "failed", error.message);
  }
}
await client.close();
