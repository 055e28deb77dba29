import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import type { LeasedRun } from '../../../src/protocol/agent/agent.ts';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import type { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { supervisorPidOf } from '../sandbox/processes.ts';

const agentKey = 'pl_the-key-of-the-agent-4711';

let missingRuntimes: string | undefined;
let scripts: ReturnType<typeof temporaryFolder>;
let spool: ReturnType<typeof temporaryFolder>;
let stage: Stage;
let agent: AgentProcess;

interface Texts {
  readonly setup?: string;
  readonly teardown?: string;
}

function apiRun({ setup, teardown }: Texts, more: Partial<LeasedRun> = {}, request = {}) {
  const phase = (script: string | undefined) =>
    script === undefined ? [] : [{ name: 'script of the check', script }];
  const spec = { request: { url: stage.target.url(), ...request } };
  const check = { id: crypto.randomUUID(), name: 'Test', checkType: 'API', spec };
  return leasedRun('', { check, lifecycle: { setup: phase(setup), teardown: phase(teardown) }, ...more });
}

async function resultOf(run: LeasedRun) {
  stage.service.enqueue(run);
  const result = await stage.service.waitFor('it', () => stage.service.resultOf(run.runId), 40_000);
  return { result, text: JSON.stringify(result) };
}

function needsRuntime(context: TestContext) {
  if (missingRuntimes) context.skip(missingRuntimes);
}

beforeAll(async () => {
  scripts = temporaryFolder();
  spool = temporaryFolder();
  stage = await Stage.open();
  const runtimes = await readRuntimes(runtimesDirectory);
  if (runtimes.ids.length === 0) {
    missingRuntimes = 'no runtime is installed: npm run runtimes:install';
    return;
  }
  agent = stage.startAgent({
    API_KEY: agentKey,
    RUNTIMES_DIR: runtimesDirectory,
    SCRIPTS_DIR: scripts.path,
    SPOOL_DIR: spool.path,
    SHUTDOWN_GRACE_SECONDS: '1',
    SERVICE_SECRET_TOKEN: 'correct-horse-battery',
    // These tests also run where scripts cannot be isolated: the scripts are their own.
    ALLOW_UNISOLATED_SCRIPTS: 'true',
  });
  await agent.logged('script sandbox ready', 90_000);
}, 180_000);

afterAll(async () => {
  await stage[Symbol.asyncDispose]();
  scripts.remove();
  spool.remove();
}, 180_000);

/** A pattern rule refuses programs to these scripts; hostile scripts can bypass it, and the sandbox contains those. */
const around = "Object.values(require.cache)[0].require('child_process')";

describe('API checks with scripts on an agent', () => {
  it('run from setup over the request to teardown, with new secrets masked everywhere', async (context) => {
    needsRuntime(context);
    const before = stage.target.requests.length;
    const run = apiRun(
      {
        setup: `process.env.SERVICE_SECRET_MADE = ['today', 'secret', '4711'].join('-');
          console.log('I have', process.env.SERVICE_SECRET_MADE, process.env.SERVICE_SECRET_TOKEN);
          request.headers['X-Made'] = '{{SERVICE_SECRET_MADE}}';
          request.url += '?seen=' + process.env.SERVICE_SECRET_MADE;`,
        teardown: "console.log('status', response.statusCode, process.env.SERVICE_SECRET_MADE)",
      },
      { variables: { NAME: 'value' } },
    );
    const { result, text } = await resultOf(run);
    expect(result.failure).toBeNull();
    expect(stage.target.requests.slice(before)).toHaveLength(1);
    expect(text).toContain('I have ***');
    expect(text).toContain('status 200 ***');
    expect(text).not.toContain('secret-4711');
    expect(text).not.toContain('correct-horse');
  });

  it('use the time of the request alone as response time and for its limit', async (context) => {
    needsRuntime(context);
    const { result } = await resultOf(
      apiRun({ setup: 'await new Promise((resolve) => setTimeout(resolve, 3000))' }),
    );
    expect(result.failure).toBeNull();
    expect(result.stoppedAt - result.startedAt - result.responseTimeMs).toBeGreaterThanOrEqual(2999);
  });

  it('make no request when setup fails', async (context) => {
    needsRuntime(context);
    const before = stage.target.requests.length;
    const { result } = await resultOf(apiRun({ setup: "throw new Error('no token today')" }));
    expect(result.failure).toMatchObject({ owner: 'target', code: 'SCRIPT_FAILED' });
    expect(result.errorMessages[0]).toContain('no token today');
    expect(stage.target.requests.length).toBe(before);
  });

  it.each([
    [
      "reads the agent's key",
      `
      const { execSync } = ${around};
      const found = execSync('cat /proc/[0-9]*/environ 2>/dev/null | tr "\\\\0" "\\\\n" | grep -c the-key-of || true').toString();
      console.log('found', found, execSync('env').toString().includes('the-key') ? 'LEAK' : 'clean');`,
      undefined,
    ],
    ['kills everything it can reach', `${around}.execSync('kill -9 -1')`, 'SCRIPT_FAILED'],
    [
      'kills its parent',
      'process.kill(process.ppid, 9); await new Promise((r) => setTimeout(r, 3000)); throw new Error("alone")',
      'SCRIPT_FAILED',
    ],
    [
      'takes more memory than it may',
      'const all = []; for (;;) all.push(Buffer.alloc(1e7, 1))',
      'SCRIPT_OUT_OF_MEMORY',
    ],
    ['writes 10 MB', "for (let i = 0; i < 1000; i++) console.log('x'.repeat(10_000))", undefined],
    ['writes without end', "for (;;) console.log('x'.repeat(8000))", 'SCRIPT_LIMIT_EXCEEDED'],
    [
      'forges its end',
      `${around}.execSync('echo not json >&3; echo \\'{"event":"script-end","durationMs":1,"request":{}}\\' >&3', { stdio: [0, 1, 2, 3] })`,
      undefined,
    ],
  ])(
    'survive a setup that %s',
    async (_what, setup, code) => {
      // `it.each` does not pass a test context along with the values of a row.
      if (missingRuntimes) return;
      const { result, text } = await resultOf(apiRun({ setup }));
      if (code === undefined) expect(result.failure).toBeNull();
      else expect(result.failure).toMatchObject({ owner: 'target', code });
      expect(text).not.toContain('the-key');
      expect(text).not.toContain('LEAK');
      expect((await resultOf(apiRun({ setup: '' }))).result.failure).toBeNull();
      expect(text.length).toBeLessThan(3_000_000);
    },
    30_000,
  );

  it('do not delay other runs, nor each other', async (context) => {
    needsRuntime(context);
    const slow = Array.from({ length: 4 }, () => apiRun({ setup: 'await new Promise(() => {})' }));
    stage.service.enqueue(...slow);
    await stage.service.waitFor('leases', () => slow.every(({ runId }) => stage.service.leases.has(runId)));
    const bare = apiRun({});
    expect((await resultOf(bare)).result.failure).toBeNull();
    expect(slow.every(({ runId }) => stage.service.resultOf(runId) === undefined)).toBe(true);
    for (const { runId } of slow) stage.service.cancel(runId);
    expect((await resultOf(apiRun({ setup: '' }))).result.failure).toBeNull();
  }, 180_000);

  it('end in an error of the agent when the supervisor dies, and work again after it', async (context) => {
    needsRuntime(context);
    const setup = "await fetch(process.env.REQUEST_URL + 'begun'); await new Promise(() => {})";
    const run = apiRun({ setup });
    stage.service.enqueue(run);
    await stage.service.waitFor('its script', () => stage.target.requests.includes('/begun'));
    const supervisor = supervisorPidOf(agent.child.pid ?? 0);
    expect(supervisor).toBeDefined();
    if (supervisor !== undefined) process.kill(supervisor, 'SIGKILL');
    const result = await stage.service.waitFor('it', () => stage.service.resultOf(run.runId), 20_000);
    expect(result.failure).toMatchObject({ owner: 'agent', code: 'SANDBOX_UNAVAILABLE' });
    expect((await resultOf(apiRun({ setup: '' }))).result.failure).toBeNull();
  }, 180_000);
});
