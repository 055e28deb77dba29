import { MessageChannel } from 'node:worker_threads';
import { afterEach, beforeAll, expect, it, type TestContext } from 'vitest';
import {
  LifecycleScriptPort,
  serveLifecycleScripts,
} from '../../../src/agent/runners/script/lifecycle-script-port.ts';
import type {
  LifecycleJob,
  LifecycleScript,
  LifecycleSession,
} from '../../../src/sandbox/lifecycle/lifecycle-scripts.ts';
import { type Runtimes, readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { plainLifecycleScripts } from '../../helpers/scripts/plain-sandbox.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';

const request = { method: 'GET', url: 'http://a.test/', body: '', headers: {}, queryParameters: {} };
const phase = (script: string): LifecycleScript => ({ script, timeoutMs: 10_000, request });
const order = (runtimeId?: string): LifecycleJob => ({
  runtimeId,
  variables: {},
  secretNames: [],
  snippets: [],
});
const never = () => new AbortController().signal;

let runtimes: Runtimes;
const sessions: LifecycleSession[] = [];
beforeAll(async () => {
  runtimes = await readRuntimes(runtimesDirectory);
});
afterEach(() => {
  for (const session of sessions.splice(0)) session.close();
});

function needsRuntime(context: TestContext) {
  if (runtimes.ids.length === 0) context.skip('no runtime is installed: npm run runtimes:install');
}

/** A link with a peer that runs scripts, and the peer's port. */
function connected(link = new LifecycleScriptPort()) {
  const { port1, port2 } = new MessageChannel();
  serveLifecycleScripts(port1, plainLifecycleScripts(runtimes), '');
  link.connect(port2);
  return { link, far: port1 };
}

async function opened(link: LifecycleScriptPort, signal = never()) {
  const answer = await link.open(order(), signal);
  if ('missing' in answer) throw new Error(answer.message);
  sessions.push(answer.session);
  return answer.session;
}

it('runs scripts of several runs at a time, each in a separate process', async (context) => {
  needsRuntime(context);
  const { link } = connected();
  const [one, other] = await Promise.all([opened(link), opened(link)]);
  await one.run(phase('globalThis.mark = 1; process.env.A = "one"'));
  const [again, apart] = await Promise.all([
    one.run(phase('console.log(globalThis.mark, process.env.A)')),
    other.run(phase('console.log(globalThis.mark, process.env.A)')),
  ]);
  expect([again, apart].map(({ lines }) => lines.map(({ text }) => text))).toEqual([
    ['1 one'],
    ['undefined undefined'],
  ]);
});

it('says what is missing', async () => {
  const unconnected = new LifecycleScriptPort();
  expect(await unconnected.open(order(), never())).toMatchObject({ missing: 'sandbox' });
  const { link } = connected();
  expect(await link.open(order('1999.01'), never())).toMatchObject({ missing: 'runtime' });
  const { port1, port2 } = new MessageChannel();
  serveLifecycleScripts(port1, undefined, 'no user namespaces here');
  link.connect(port2);
  expect(await link.open(order(), never())).toEqual({
    missing: 'sandbox',
    message: 'no user namespaces here',
  });
});

it('ends a script whose peer dies, and continues with the next', async (context) => {
  needsRuntime(context);
  const { link, far } = connected();
  const session = await opened(link);
  const running = session.run(phase('await new Promise(() => {})'));
  far.close();
  expect((await running).failure).toMatchObject({ problem: 'unavailable' });
  expect(session.isOpen).toBe(false);
  expect(await link.open(order(), never())).toMatchObject({ missing: 'sandbox' });
  connected(link);
  const next = await opened(link);
  expect((await next.run(phase(''))).failure).toBeUndefined();
});

it('stops with its run', async (context) => {
  needsRuntime(context);
  const { link } = connected();
  const stop = new AbortController();
  const session = await opened(link, stop.signal);
  const running = session.run(phase('await new Promise(() => {})'));
  stop.abort(new DOMException('stopped', 'AbortError'));
  expect((await running).failure).toMatchObject({ problem: 'stopped' });
  await expect(link.open(order(), stop.signal)).rejects.toThrow('stopped');
  const late = new AbortController();
  const opening = link.open(order(), late.signal);
  late.abort(new DOMException('too late', 'AbortError'));
  await expect(opening).rejects.toThrow('too late');
});
