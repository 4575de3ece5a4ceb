// The client of the first release line calls tools as tasks; what it sees goes to stdout, as JSON.
//
//   node tasks.mjs TRANSPORT TARGET...

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [transport, ...target] = process.argv.slice(2);
const [first, ...rest] = target;
const reaching = {
  stdio: () => new StdioClientTransport({ command: first, args: rest }),
  http: () => new StreamableHTTPClientTransport(new URL(first)),
};

const client = new Client(
  { name: "typescript", version: "1" },
  { capabilities: { elicitation: { form: {} } } },
);
client.setRequestHandler(ElicitRequestSchema, async () => ({
  action: "accept",
  content: { name: "Ada" },
}));
await client.connect(reaching[transport]());
const { tasks } = client.experimental;

async function call(name, task = {}) {
  const seen = [];
  const params = { name, arguments: {} };
  for await (const one of tasks.callToolStream(params, CallToolResultSchema, { task })) {
    seen.push(one.task?.status ?? one.result?.content[0].text ?? one.error.message);
  }
  return seen;
}

async function refused(promise) {
  try {
    return await promise;
  } catch (error) {
    return error.code;
  }
}

const seen = { work: await call("work"), ask: await call("ask"), fail: await call("fail") };

const [begun] = await (async () => {
  const params = { name: "hang", arguments: {} };
  const stream = tasks.callToolStream(params, CallToolResultSchema, { task: { ttl: 60_000 } });
  for await (const one of stream) return [one.task];
})();
const cancelled = await tasks.cancelTask(begun.taskId);
seen.cancel = [begun.ttl, cancelled.status, (await tasks.getTask(begun.taskId)).status];
seen["cancel again"] = await refused(tasks.cancelTask(begun.taskId));
seen.list = (await tasks.listTasks()).tasks.map((one) => one.status);
seen.unknown = await refused(tasks.getTask("nobody"));

await client.close();
console.log(JSON.stringify(seen));
