// The TypeScript SDK's client tries everything; what it sees goes to stdout by name, as JSON.
//
//   node exercise.mjs RELEASE MODE ANSWERS TRANSPORT TARGET...
//
// RELEASE is v1 or v2 of the SDK, MODE is `legacy` or `auto`, ANSWERS is what the client answers.
// TRANSPORT is `stdio`, where TARGET is a command, or `http` or `sse`, where it is a URL.

const [release, mode, given, transport, ...target] = process.argv.slice(2);
const answers = JSON.parse(given);
const legacy = mode === "legacy";
const { connect } = await import(`./${release}.mjs`);

const heard = { levels: [], lists: new Set(), updated: [] };

const handlers = {
  elicit(params) {
    if (params.mode === "url") return { action: "accept" };
    const names = Object.keys(params.requestedSchema.properties);
    const content = Object.fromEntries(names.map((name) => [name, answers.form[name]]));
    return { action: "accept", content };
  },
  sample() {
    const content = { type: "text", text: answers.text };
    return { role: "assistant", content, model: answers.model };
  },
  roots: () => ({ roots: [{ uri: answers.root }] }),
  log: (params) => heard.levels.push(params.level),
  changed: (list) => heard.lists.add(list),
  updated: (params) => heard.updated.push(params.uri),
};

const { client, revision } = await connect({ transport, target, mode, handlers });

const meta = legacy ? {} : { _meta: { "io.modelcontextprotocol/logLevel": "warning" } };
const call = (name, values = {}, options) =>
  client.callTool({ name, arguments: values }, ...(release === "v1" ? [undefined, options] : [options]));
const text = async (name, values) => (await call(name, values)).content[0].text;
const read = async (uri) => (await client.readResource({ uri })).contents[0];
const filled = async (name, values = {}) =>
  (await client.getPrompt({ name, arguments: values })).messages[0].content.text;
const complete = async (ref, name, value) =>
  (await client.complete({ ref, argument: { name, value } })).completion.values;

async function refused(promise) {
  try {
    return { code: null, data: await promise };
  } catch (error) {
    return error;
  }
}

async function until(ready) {
  while (!ready()) await new Promise((resolve) => setTimeout(resolve, 10));
}

const tools = async () => {
  const options = release === "v1" || legacy ? undefined : { cacheMode: "refresh" };
  return (await client.listTools(undefined, options)).tools.map((tool) => tool.name).sort();
};

const looks = {
  server: async () => {
    const info = client.getServerVersion();
    return [info.name, info.version, revision()];
  },
  instructions: async () => client.getInstructions(),
  capabilities: async () => Object.keys(client.getServerCapabilities()).sort(),
  tools,
  echo: () => text("echo", { text: "hello" }),
  add: async () => {
    const result = await call("add", { a: 1, b: 2 });
    return [result.content[0].text, result.structuredContent];
  },
  weather: async () => (await call("weather", { city: "Oslo" })).structuredContent,
  kinds: async () => (await call("mixture")).content.map((block) => block.type),
  link: async () => {
    const [block] = (await call("link")).content;
    return [block.type, block.uri];
  },
  "own schema": () => text("dice", { count: 2 }),
  "bad arguments": async () => (await call("dice", { count: 0 })).isError,
  failure: async () => {
    const result = await call("fail", { reason: "out of paper" });
    return [result.isError, result.content[0].text];
  },
  refusal: async () => {
    const error = await refused(call("refuse", { reason: "not today" }));
    return [error.code, error.data];
  },
  progress: async () => {
    const reports = [];
    const onprogress = ({ progress, total, message }) => reports.push([progress, total, message]);
    await call("count", { to: 3 }, { onprogress });
    return reports;
  },
  logging: async () => {
    if (legacy) await client.setLoggingLevel("warning");
    await client.callTool({ name: "chatter", arguments: {}, ...meta });
    await until(() => heard.levels.includes("emergency"));
    return heard.levels;
  },
  resources: async () => (await client.listResources()).resources.map((one) => one.uri).sort(),
  templates: async () =>
    (await client.listResourceTemplates()).resourceTemplates.map((one) => one.uriTemplate),
  text: async () => {
    const part = await read("notes://welcome");
    return [part.mimeType, part.text];
  },
  binary: async () => {
    const part = await read("notes://logo");
    return [part.mimeType, part.blob.slice(0, 11)];
  },
  "from a template": async () => JSON.parse((await read("users://2/profile")).text),
  missing: async () => (await refused(read("notes://nowhere"))).code,
  prompts: async () => (await client.listPrompts()).prompts.map((one) => one.name).sort(),
  "filled in": () => filled("greet", { name: "Ada", style: "short" }),
  conversation: async () => {
    const found = await client.getPrompt({ name: "trip", arguments: { city: "Oslo" } });
    return found.messages.map((message) => `${message.role} ${message.content.type}`);
  },
  "completed argument": () => complete({ type: "ref/prompt", name: "trip" }, "city", "li"),
  "completed variable": () =>
    complete({ type: "ref/resource", uri: "users://{id}/profile" }, "id", "2"),
  form: () => text("book"),
  "two forms": () => text("order"),
  page: () => text("sign"),
  sampling: () => text("summarize", { text: "A long text." }),
  roots: () => text("folders"),
  "all at once": () => text("survey"),
  "from a thread": () => text("ask_from_a_thread"),
  "from a prompt": () => filled("introduce"),
  "changed lists": async () => {
    const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    const listening = legacy ? null : await client.listen(all);
    await call("show_more");
    await until(() => heard.lists.size === 3);
    await listening?.close();
    return [...heard.lists].sort();
  },
  "changed tools": tools,
  "updated resource": async () => {
    const uri = "notes://board";
    const listening = legacy ? null : await client.listen({ resourceSubscriptions: [uri] });
    if (legacy) await client.subscribeResource({ uri });
    await call("write", { text: "hello" });
    await until(() => heard.updated.length > 0);
    await listening?.close();
    return heard.updated[0];
  },
};

const timeout = (name) =>
  new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`${name}: no answer in 20 s`)), 20_000).unref();
  });

const seen = {};
for (const [name, look] of Object.entries(looks)) {
  try {
    seen[name] = (await Promise.race([look(), timeout(name)])) ?? null;
  } catch (error) {
    seen[name] = { failed: String(error) };
  }
}
await client.close();
console.log(JSON.stringify(seen));
