import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import type { ClaimRequest, LeasedRun } from '../../../src/protocol/agent/agent.ts';
import { findBrowser } from '../../../src/sandbox/browsers/find-browser.ts';
import { unpackedChromiumPath } from '../../../src/sandbox/browsers/unpacked-chromium.ts';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import type { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { sampleOf } from '../../helpers/night.ts';
import { browserTroubles } from '../../helpers/scripts/browser-trouble.ts';
import { scriptProcessesIn } from '../../helpers/scripts/script-processes.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { supervisorPidOf } from '../sandbox/processes.ts';

const imports = "import { test, expect } from '@playwright/test';\n";
const runTimeoutMs = 40_000;

let missingRuntimes: string | undefined;
let missingBrowser: string | undefined;
let scripts: ReturnType<typeof temporaryFolder>;
let spool: ReturnType<typeof temporaryFolder>;
let stage: Stage;
let agent: AgentProcess;

function scriptRun(checkType: 'BROWSER' | 'MULTI_STEP', script: string, more: Partial<LeasedRun> = {}) {
  const check = { id: crypto.randomUUID(), name: 'Test', checkType, spec: { script } };
  return leasedRun('', { check, ...more });
}

async function resultOf(run: LeasedRun) {
  stage.service.enqueue(run);
  return await stage.service.waitFor('the result', () => stage.service.resultOf(run.runId), runTimeoutMs);
}

const processes = () => scriptProcessesIn(scripts.path);

function needsRuntime(context: TestContext) {
  if (missingRuntimes) context.skip(missingRuntimes);
}
function needsBrowser(context: TestContext) {
  needsRuntime(context);
  if (missingBrowser) context.skip(missingBrowser);
}

beforeAll(async () => {
  scripts = temporaryFolder();
  spool = temporaryFolder();
  stage = await Stage.open();
  const runtimes = await readRuntimes(runtimesDirectory);
  if (runtimes.ids.length === 0) missingRuntimes = 'no runtime is installed: npm run runtimes:install';
  try {
    await findBrowser({
      chromiumPath: process.env.CHROMIUM_PATH,
      unpackedPath: unpackedChromiumPath(runtimesDirectory),
    });
  } catch (thrown) {
    missingBrowser = String(thrown);
  }
  if (missingRuntimes) return;
  agent = stage.startAgent({
    RUNTIMES_DIR: runtimesDirectory,
    SCRIPTS_DIR: scripts.path,
    SPOOL_DIR: spool.path,
    JOB_CONCURRENCY: '2',
    PROBE_CONCURRENCY: '2',
    SHUTDOWN_GRACE_SECONDS: '1',
    SERVICE_SECRET_TOKEN: 'correct-horse-battery',
    // These tests also run where scripts cannot be isolated: the scripts are their own.
    ALLOW_UNISOLATED_SCRIPTS: 'true',
    ...(process.env.CHROMIUM_PATH ? { CHROMIUM_PATH: process.env.CHROMIUM_PATH } : {}),
  });
  await agent.logged('script sandbox ready', 90_000);
}, 180_000);

afterAll(async () => {
  await stage[Symbol.asyncDispose]();
  scripts.remove();
  spool.remove();
}, 180_000);

describe('an agent with scripts', () => {
  it('reports its runtimes and types in claims and in its health', async (context) => {
    needsRuntime(context);
    const claim = await stage.service.waitFor('a claim that names runtimes', () =>
      stage.service.calls
        .map(({ body }) => body as Partial<ClaimRequest> | undefined)
        .find((body) => (body?.runtimes?.length ?? 0) > 0),
    );
    expect(claim?.checkTypes).toContain('MULTI_STEP');
    expect(claim?.backends?.MULTI_STEP).toMatch(/, (own network|the host's network: no egress rules hold)$/);
    const health = JSON.parse((await agent.get('/health')).body);
    expect(health.scripts).toMatchObject({ isSettled: true, sandbox: { mechanism: expect.any(String) } });
  });

  it('keeps a full lane filled while a claim waits for scripts', async (context) => {
    needsRuntime(context);
    const { service, target } = stage;
    const held = [leasedRun(target.url('/hold/1')), leasedRun(target.url('/hold/2'))];
    const quick = Array.from({ length: 20 }, (_, index) => leasedRun(target.url(`/quick/${index}`)));
    service.enqueue(...held);
    const waiting = await service.waitFor('a claim for scripts only', () =>
      service
        .callsOf('claim')
        .find(
          ({ body }) => JSON.stringify(body.freeSlots) === '{"probe":0,"script":2}' && body.waitMs === 25_000,
        ),
    );
    await service.waitFor('both targets to be asked', () => target.heldCount === 2);
    const claimsBefore = service.callsOf('claim').length;
    service.enqueue(...quick);
    target.releaseAll();
    const ids = new Set([...held, ...quick].map(({ runId }) => runId));
    await service.waitFor(
      'all results',
      () => service.results.filter(({ runId }) => ids.has(runId)).length === 22,
    );
    const claims = service.callsOf('claim').slice(claimsBefore);
    // Twenty slots became free, one or two at a time; the long claim is given up once, when the queue cannot fill them.
    const free = claims.map(({ body }) => JSON.stringify(body.freeSlots));
    expect(free.filter((slots) => /"probe":[12],"script":0/.test(slots)).length).toBeGreaterThan(5);
    await service.waitFor('the claim for scripts to be given up', () => waiting.isAborted);
    const later = service.callsOf('claim').slice(claimsBefore);
    expect(later.filter(({ isAborted }) => isAborted)).toEqual([]);
  });

  it('runs a multi-step script and masks its new secrets', async (context) => {
    needsRuntime(context);
    const run = scriptRun(
      'MULTI_STEP',
      `${imports}test('made up today-secret-4711', async ({ request }) => {
        process.env.SERVICE_SECRET_MADE = ['today', 'secret', '4711'].join('-');
        console.log('I have', process.env.SERVICE_SECRET_MADE, process.env.SERVICE_SECRET_TOKEN);
        const answer = await request.get(process.env.TARGET + '?q=' + process.env.SERVICE_SECRET_MADE);
        expect(answer.status(), process.env.SERVICE_SECRET_MADE).toBe(200);
      });`,
      { variables: { TARGET: stage.target.url() } },
    );
    const result = await resultOf(run);
    expect(result.failure).toBeNull();
    const text = JSON.stringify(result);
    expect(text).toContain('I have ***');
    expect(text).not.toContain('secret-4711');
    expect(text).not.toContain('correct-horse');
    await stage.service.waitFor('the artifacts', () =>
      (result.artifacts ?? [])
        .filter(({ state }) => state === 'awaited')
        .every(({ name }) => stage.service.inbox.stored.has(`${run.runId}/${name}`)),
    );
    for (const [name, bytes] of stage.service.inbox.stored) {
      expect(name).not.toContain('4711');
      expect(bytes.includes('today-secret-4711'), name).toBe(false);
    }
  });

  it.each([
    ['a test', (body: string) => `${imports}test('in pieces', async () => { ${body} });`],
    ['a plain script', (body: string) => body],
  ])('finds a secret that %s writes byte by byte', async (_kind, script) => {
    if (missingRuntimes) return;
    const secret = 'p@ss/w"örd+& of mine\nand a second line';
    const run = scriptRun(
      'MULTI_STEP',
      script(`
        const write = async (stream, text) => {
          for (const byte of Buffer.from(text)) {
            stream.write(Buffer.of(byte));
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
        };
        await Promise.all([
          write(process.stdout, 'I have ' + process.env.PASSWORD + ' and ' + process.env.SERVICE_SECRET_TOKEN + ' done\\n'),
          write(process.stderr, 'in Base64 ' + Buffer.from('user:' + process.env.PASSWORD).toString('base64') + ' done'),
        ]);
        process.stdout.write('x'.repeat(4090) + process.env.SERVICE_SECRET_TOKEN + '\\n');
        process.stdout.write('y'.repeat(8170) + process.env.SERVICE_SECRET_TOKEN + '\\n');`),
      { variables: { PASSWORD: secret }, secretNames: ['PASSWORD'] },
    );
    const result = await resultOf(run);
    expect(result.failure).toBeNull();
    const { jobLog } = result.detail as { jobLog: { msg: string; level: string }[] };
    const texts = (wanted: string) =>
      jobLog
        .filter(({ level }) => level === wanted)
        .map(({ msg }) => msg)
        .join('|');
    expect(texts('INFO')).toMatch(/^I have \*+\|\*+ and \*+ done\|x+\*+…\|y+…$/);
    expect(texts('ERROR')).toMatch(/^in Base64 \S*\*+\S* done$/);
    const written = [JSON.stringify(result), ...(await storedTexts(run, result))];
    const halves = [secret, 'correct-horse-battery', Buffer.from(secret).toString('base64')].flatMap((text) =>
      pieces(text),
    );
    for (const text of written) expect(halves.filter((half) => text.includes(half))).toEqual([]);
  });

  it('reveals a secret in none of the ways in which a script may show it', async (context) => {
    needsRuntime(context);
    const secret = 'tok_9fQ2x+7LmZ pR4sVb8';
    const run = scriptRun(
      'MULTI_STEP',
      `${imports}
      const secret = process.env.PASSWORD;
      test('title ' + secret, async ({ request }, info) => {
        console.log(Buffer.from('xy' + secret).toString('base64'), Buffer.from(secret).toString('hex'), { [secret]: 1 });
        const url = process.env.TARGET + '/' + encodeURIComponent(secret) + '?q=' + encodeURIComponent(secret);
        await request.post(url, { headers: { 'x-own': secret, authorization: 'Basic abcd' + 'efgh' }, form: { secret } });
        await test.step('step ' + secret, async () => {});
        require('fs').writeFileSync(secret + '.png', 'no picture of ' + secret);
        await info.attach('attached ' + secret, { body: JSON.stringify({ secret }), contentType: 'application/json' });
        expect.soft(secret).toBe('other');
        throw Object.assign(new TypeError('failed with ' + secret), { [secret]: { [secret]: secret } });
      });`,
      { variables: { PASSWORD: secret, TARGET: stage.target.url() }, secretNames: ['PASSWORD'] },
    );
    const result = await resultOf(run);
    expect(result.failure).toMatchObject({ owner: 'target', code: 'SCRIPT_FAILED' });
    const texts = await storedTexts(run, result);
    const written = [JSON.stringify(result), agent.stdout, ...texts].join('\n');
    expect(written).toContain('title ***');
    const leaks = [
      ...pieces(secret),
      ...pieces(secret.replaceAll(/[^\w-]/g, '-')),
      ...pieces(encodeURIComponent(secret)),
      ...pieces(Buffer.from(secret).toString('hex'), 16),
      ...pieces(Buffer.from(secret).toString('base64')),
      'abcdefgh',
    ];
    expect(leaks.filter((piece) => written.includes(piece))).toEqual([]);
  });

  it('runs a browser script and keeps its evidence', async (context) => {
    needsBrowser(context);
    const run = scriptRun(
      'BROWSER',
      `${imports}test('look', async ({ page }) => {
        await page.goto(process.env.TARGET);
        await expect(page.locator('h1')).toHaveText('not there', { timeout: 500 });
      });`,
      { variables: { TARGET: stage.target.url() } },
    );
    const result = await resultOf(run);
    expect(result.failure).toMatchObject({ owner: 'target', code: 'SCRIPT_FAILED' });
    expect(result.artifacts?.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['traces/look.zip', 'report.json']),
    );
  });

  it('ends a cancelled run and everything it started', async (context) => {
    needsBrowser(context);
    const run = scriptRun(
      'BROWSER',
      `${imports}test('stay', async ({ page }) => {
        await page.goto(process.env.CANCELLED);
        await new Promise(() => {});
      });`,
      { variables: { CANCELLED: stage.target.url('/cancelled') } },
    );
    stage.service.enqueue(run);
    await stage.service.waitFor('its page', () => stage.target.requests.includes('/cancelled'), runTimeoutMs);
    expect(processes().browsers()).not.toEqual([]);
    stage.service.cancel(run.runId);
    await stage.service.waitFor('no browser', () => processes().leftBrowsers().length === 0, runTimeoutMs);
  });

  it('claims the next run at once when a full lane has capacity again', async (context) => {
    needsRuntime(context);
    const stay = () => scriptRun('MULTI_STEP', `${imports}test('stay', async () => new Promise(() => {}));`);
    const [first, second] = [stay(), stay()];
    stage.service.enqueue(first, second);
    const asksFor = (count: number) => () => {
      const { body } = stage.service.calls.findLast(({ name }) => name === 'claim') ?? {};
      const claim = body as { freeSlots?: { script: number }; waitMs?: number } | undefined;
      return claim?.waitMs === 25_000 && claim.freeSlots?.script === count;
    };
    // That claim waits much longer than the following steps may take.
    await stage.service.waitFor('a claim while the lane is full', asksFor(0));
    stage.service.cancel(first.runId);
    await stage.service.waitFor('a claim for one script', asksFor(1));
    stage.service.cancel(second.runId);
  });

  it('starts no script for a missing runtime', async (context) => {
    needsRuntime(context);
    const run = scriptRun('MULTI_STEP', `${imports}test('x', () => {});`);
    run.check.spec.runtimeId = '2024.02';
    expect(await resultOf(run)).toMatchObject({ failure: { code: 'RUNTIME_MISSING', owner: 'agent' } });
  });

  for (const { name, body, says } of sampleOf(browserTroubles, 2)) {
    it(`survives ${name}`, async (context) => {
      needsBrowser(context);
      const run = scriptRun(
        'BROWSER',
        `${imports}test.setTimeout(8000); test('trouble', async ({ page }) => {
          const T = process.env.TARGET;
          await page.goto(T);
          ${body}
          throw new Error('over');
        });`,
        { variables: { TARGET: stage.target.url() } },
      );
      const result = await resultOf(run);
      expect(result.failure, result.failure?.message).toMatchObject({ owner: 'target' });
      const { jobLog } = result.detail as { jobLog: { msg: string }[] };
      const text = [...jobLog.map(({ msg }) => msg), result.failure?.message].join('\n');
      expect(text).toMatch(says);
      expect(text).not.toContain('OPENED');
      expect(JSON.stringify(result)).not.toContain('root:x:0');
      await stage.service.waitFor('no browser', () => processes().leftBrowsers().length === 0);
    });
  }

  it('goes on when the supervisor of the sandboxes is killed', async (context) => {
    needsRuntime(context);
    const run = scriptRun('MULTI_STEP', `${imports}test('long', async () => new Promise(() => {}));`);
    stage.service.enqueue(run);
    await stage.service.waitFor('the lease', () => stage.service.leases.has(run.runId));
    const supervisor = supervisorPidOf(agent.child.pid ?? 0);
    expect(supervisor).toBeDefined();
    if (supervisor !== undefined) killHard(supervisor);
    await stage.service.waitFor('its result', () => stage.service.resultOf(run.runId), runTimeoutMs);
    const next = scriptRun('MULTI_STEP', `${imports}test('next', () => {});`);
    expect((await resultOf(next)).failure).toBeNull();
  });

  it('releases a browser run when it must stop, and leaves no process and no folder', async (context) => {
    needsBrowser(context);
    const run = scriptRun(
      'BROWSER',
      `${imports}test('stay', async ({ page }) => { await page.goto(process.env.STAY); await new Promise(() => {}); });`,
      { variables: { STAY: stage.target.url('/stay') } },
    );
    stage.service.enqueue(run);
    await stage.service.waitFor('its page', () => stage.target.requests.includes('/stay'), runTimeoutMs);
    agent.signal('SIGTERM');
    const { signal } = await agent.exited;
    expect(signal).toBeNull();
    expect(stage.service.released.map(({ runId }) => runId)).toContain(run.runId);
    expect(processes().browsers()).toEqual([]);
    expect(processes().scripts()).toEqual([]);
    expect(readdirSync(join(scripts.path, '0/sandboxes')).filter((name) => name.startsWith('slot'))).toEqual(
      [],
    );
    expect(readdirSync(spool.path)).toEqual([]);
  }, 180_000);
});

/** All pieces of a text of this length; none of them may remain. */
function pieces(text: string, length = 8): string[] {
  return Array.from({ length: text.length - length + 1 }, (_, at) => text.slice(at, at + length));
}

/** The texts of a run's artifacts once all are stored: archives unpacked, and printed pieces joined. */
async function storedTexts(run: LeasedRun, result: Awaited<ReturnType<typeof resultOf>>): Promise<string[]> {
  const names = (result.artifacts ?? []).filter(({ state }) => state === 'awaited').map(({ name }) => name);
  const { stored } = stage.service.inbox;
  await stage.service.waitFor('the artifacts', () =>
    names.every((name) => stored.has(`${run.runId}/${name}`)),
  );
  const texts: string[] = [...names];
  for (const name of names) {
    const bytes = stored.get(`${run.runId}/${name}`) ?? Buffer.alloc(0);
    if (!name.endsWith('.zip')) {
      texts.push(bytes.toString(), printed(bytes.toString()));
      continue;
    }
    const archive = await fromBufferPromise(bytes, { lazyEntries: true });
    for await (const entry of archive.eachEntry()) {
      const text = (await buffer(await archive.openReadStreamPromise(entry))).toString();
      texts.push(entry.fileName, text, printed(text));
    }
  }
  return texts;
}

/** Concatenates all texts of a JSON document, or of one per line, so that pieces of printed text are joined. */
function printed(json: string): string {
  const parts = [...json.matchAll(/"(?:text|buffer|base64)": ?"((?:[^"\\]|\\.)*)"/g)];
  return parts.map(([, text = '']) => text).join('');
}

function killHard(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended meanwhile
  }
}
