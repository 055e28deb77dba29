/**
 * Compiles the scripts in a folder that `scripts/bundle.ts` has written: `node compile.mjs FOLDER [agent] [service]`.
 * Use the same Node and the same architecture that will run them.
 *
 * A process takes from the compiled code what it would compile itself, and keeps all of it in memory. So each of the
 * named commands is started, on free ports of this machine, and what its threads have compiled until then is kept: for
 * an agent until it has reported a run, for a service until it is ready. Scripts that none of them loads, and all
 * scripts if no command is named, are compiled whole.
 */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import vm from 'node:vm';
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads';

/** Name of the channel between threads, and the query of this file's URL in processes that are recorded. */
const recording = 'record-compiled-code';
/** How long the threads of a process may take to write; one that waits in the kernel never does. */
const writeMs = 1_000;
const startMs = 60_000;
/** Several threads and commands load the same script: in a later turn each adds to what the others have compiled. */
const turns = 2;
const checkTypes = 'URL,DNS,DOMAIN,TCP,UDP,SQL,SSL,GRPC,WEBSOCKET,ICMP,TRACEROUTE,NTP';
const starts = { agent: recordAgent, service: recordService };

if (new URL(import.meta.url).search === `?${recording}`) beRecorded();
else await compile();

async function compile() {
  const [folder, ...commands] = process.argv.slice(2);
  if (folder === undefined || commands.some((name) => !(name in starts))) {
    console.error('usage: node compile.mjs FOLDER [agent] [service]');
    process.exit(2);
  }
  for (const name of Array(turns).fill(commands).flat()) {
    const data = mkdtempSync(join(tmpdir(), 'picket-compile-'));
    try {
      await starts[name](folder, data);
    } finally {
      rmSync(data, { recursive: true });
    }
    keepLargest(folder);
  }
  for (const file of globSync(join(folder, '*.cjs'))) if (!existsSync(`${file}.compiled`)) compileWhole(file);
}

/** All functions, including those that V8 would compile on their first call. */
function compileWhole(file) {
  setFlagsFromString('--no-lazy');
  const script = new vm.Script(readFileSync(file, 'latin1'), { filename: file });
  // V8 accepts the compiled code only with the same flags as now.
  setFlagsFromString('--lazy');
  writeFileSync(`${file}.compiled`, script.createCachedData());
}

async function recordAgent(folder, data) {
  const service = await openService();
  try {
    const variables = {
      ...{ SERVICE_URL: service.url, API_KEY: 'pl_recorded', AGENT_HEALTH_PORT: '0', SPOOL_DIR: data },
      CHECK_TYPES: checkTypes,
    };
    await record(folder, { command: 'agent', variables, ready: () => service.reported });
  } finally {
    service.close();
  }
}

async function recordService(folder, data) {
  const variables = {
    PORT: '0',
    HOST: '127.0.0.1',
    DATA_DIR: data,
    BOOTSTRAP_API_KEY: 'ak_recorded_0123456789',
  };
  const ready = async (lines) => {
    const { promise, resolve } = Promise.withResolvers();
    lines.on('line', (line) => {
      const address = /"address":"([^"]+)"/.exec(line)?.[1];
      if (address !== undefined) resolve(address);
    });
    await (await fetch(`${await promise}/-/readiness`)).text();
  };
  await record(folder, { command: 'service', variables, ready });
}

/** Starts a command, and lets its threads write what they have compiled once it is ready. */
async function record(folder, { command, variables, ready }) {
  const program = ['agent', 'cli'].map((name) => join(folder, `${name}.js`)).find(existsSync);
  const child = spawn(process.execPath, ['--import', `${import.meta.url}?${recording}`, program, command], {
    env: { PATH: process.env.PATH, ...variables },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const stop = new AbortController();
  const closed = new Promise((resolve) => child.once('close', resolve));
  const failed = Promise.race([
    closed.then(() => Promise.reject(new Error(`"${command}" ended while it was recorded`))),
    delay(startMs, undefined, stop).then(() =>
      Promise.reject(new Error(`"${command}" was not ready in time`)),
    ),
  ]);
  failed.catch(() => undefined);
  try {
    await Promise.race([ready(createInterface({ input: child.stdout })), failed]);
    const written = new Promise((resolve) => child.once('message', resolve));
    child.send(recording);
    await Promise.race([written, failed]);
  } finally {
    stop.abort();
    child.kill('SIGKILL');
    await closed;
  }
}

/** In each thread of a recorded process: keeps the scripts that it loads, and writes their code when it is due. */
function beRecorded() {
  const scripts = new Map();
  vm.Script = class extends vm.Script {
    constructor(source, options) {
      super(source, options);
      scripts.set(options.filename, this);
    }
  };
  syncBuiltinESMExports();
  const write = () => {
    for (const [file, script] of scripts)
      if (file.endsWith('.cjs')) writeFileSync(`${file}.compiled.${threadId}`, script.createCachedData());
  };
  const channel = new BroadcastChannel(recording);
  channel.unref();
  if (!isMainThread) {
    channel.onmessage = write;
    return;
  }
  process.once('message', async () => {
    channel.postMessage('write');
    write();
    await delay(writeMs);
    process.send('written');
  });
}

/** Keeps the largest code of each script, from this turn or an earlier one: it has the most functions. */
function keepLargest(folder) {
  const written = globSync(join(folder, '*.compiled.*'));
  for (const file of written.toSorted((one, other) => statSync(one).size - statSync(other).size)) {
    const kept = file.replace(/\.\d+$/, '');
    if (existsSync(kept) && statSync(kept).size >= statSync(file).size) rmSync(file);
    else {
      // A process that is recorded makes files for its own user; in an image another one runs them.
      chmodSync(file, 0o644);
      renameSync(file, kept);
    }
  }
}

/** A service for one agent, which leases it one run, and resolves `reported` with its result. */
async function openService() {
  const { promise: reported, resolve } = Promise.withResolvers();
  let runs = [];
  const answers = {
    '/v1/agent/claims': async ({ waitMs }) => {
      if (runs.length === 0) await delay(waitMs, undefined, { ref: false });
      return { serverTime: Date.now(), leaseTtlMs: 15_000, runs: runs.splice(0) };
    },
    '/v1/agent/leases/renew': () => ({
      serverTime: Date.now(),
      leaseTtlMs: 15_000,
      lostRunIds: [],
      cancelledRunIds: [],
    }),
    '/v1/agent/results': ({ results }) => {
      resolve();
      const items = results.map(({ resultId }) => ({ resultId, status: 'accepted', reason: null }));
      return { serverTime: Date.now(), items };
    },
  };
  const server = createServer(async (request, response) => {
    const answer = answers[request.url];
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    response.writeHead(answer || request.url === '/' ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ? await answer(JSON.parse(Buffer.concat(chunks))) : {}));
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${server.address().port}`;
  const id = () => crypto.randomUUID();
  runs = [
    {
      ...{
        runId: id(),
        leaseNumber: 1,
        resultId: id(),
        slotAt: Date.now(),
        attempt: 0,
        sequenceId: id(),
        checkRunId: 1,
      },
      ...{ accountId: id(), location: { name: 'recorded', proxyUrl: null }, variables: {}, secretNames: [] },
      check: { id: id(), name: 'Recorded', checkType: 'URL', spec: { request: { url: `${url}/` } } },
    },
  ];
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url, reported, close };
}
