import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import { FileScrubber } from '../../../src/agent/delivery/artifacts/artifact-scrubber.ts';
import { RunArtifacts } from '../../../src/agent/delivery/artifacts/run-artifacts.ts';
import type { SealedArtifacts } from '../../../src/agent/run/contracts.ts';
import { Scrubber } from '../../../src/agent/scrub/scrubber.ts';
import { SecretFinder } from '../../../src/checks/secrets/secret-finder.ts';
import { credentialHeaderShapes } from '../../../src/checks/secrets/shapes/credentials/credential-header-shape.ts';
import { writtenForms } from '../../helpers/agent/scrub-forms.ts';
import { runtimesDirectory, type ScriptStage, startScriptStage } from '../../helpers/scripts/script-stage.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';

const password = 'S3cret-p@ss/w"örd+& 100%';
const token = 'tok_9fQ2x7LmZpR4sVb8';
const cookieValue = 'session-2b7e151628aed2a6abf7';
const secrets = [password, token];

/** A page that echoes requests in every possible way, in bodies with every encoding. */
const page = `<!doctype html><title>Login</title><form><input id="user"><input id="pass" type="password"></form>
<pre id="echo"></pre><p id="long">${'word '.repeat(16)}${token} ${password}</p><script>
document.cookie = 'visible=' + encodeURIComponent(${JSON.stringify(token)});
localStorage.setItem('token', ${JSON.stringify(token)});
sessionStorage.setItem('pw', ${JSON.stringify(password)});
console.log('logged in with', ${JSON.stringify(password)});
console.error({ token: ${JSON.stringify(token)} });
document.getElementById('echo').textContent = ${JSON.stringify(password)};
for (const encoding of ['gzip', 'deflate', 'br', 'plain']) fetch('/echo?as=' + encoding + '&pw=' + encodeURIComponent(${JSON.stringify(password)}), { headers: { 'X-Api-Key': 'header-of-its-own-1234', 'x-other': btoa(${JSON.stringify(token)}) } });
</script>`;

describe('the remains of a real browser run', () => {
  let stage: ScriptStage;
  let target: HttpTarget;
  let folder: string;
  beforeAll(async () => {
    stage = await startScriptStage();
    folder = await mkdtemp(join(tmpdir(), 'picket-trace-'));
    const body = JSON.stringify({
      password,
      nested: JSON.stringify({ token }),
      both: `${token}:${password}`,
    });
    target = await startHttpTarget({
      routes: {
        login: (_request, reply) => {
          reply.writeHead(200, {
            'content-type': 'text/html',
            'set-cookie': [`sid=${cookieValue}`, `t=${token}`],
          });
          reply.end(page);
        },
        echo: (request, reply) => {
          const as = request.query.get('as') ?? 'plain';
          const encoders: Readonly<Record<string, (text: string) => Buffer>> = {
            gzip: gzipSync,
            deflate: deflateSync,
            br: brotliCompressSync,
          };
          const encode = encoders[as];
          reply.writeHead(200, {
            'content-type': 'application/json',
            ...(encode && { 'content-encoding': as }),
          });
          reply.end(encode ? encode(body) : body);
        },
      },
    });
  });
  afterAll(async () => {
    await target.close();
    await stage.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('contain no form of any secret, and its trace still opens', { timeout: 180_000 }, async (context) => {
    if (stage.missingBrowser && process.env.CI !== 'true') context.skip(stage.missingBrowser);
    const finder = new SecretFinder(secrets, credentialHeaderShapes());
    const artifacts = new RunArtifacts({ folder: join(folder, 'run'), scrubber: new Scrubber(secrets) });
    const script = `import { test, expect } from '@playwright/test';
      test('logs in', async ({ page, request, context }) => {
        await context.addCookies([{ name: 'mine', value: ${JSON.stringify(token)}, url: '${target.url}' }]);
        await page.goto('${target.url}/login');
        await page.fill('#user', ${JSON.stringify(token)});
        await page.fill('#pass', ${JSON.stringify(password)});
        await test.step('sends ' + ${JSON.stringify(password)}, async () => {
          await request.post('${target.url}/echo?as=gzip', { headers: { Authorization: 'Bearer ' + ${JSON.stringify(token)}, 'x-sent': 'a' }, data: { pw: ${JSON.stringify(password)} } });
          await request.post('${target.url}/echo', { form: { pw: ${JSON.stringify(password)} } });
          await request.post('${target.url}/echo', { multipart: { pw: ${JSON.stringify(password)} } });
        });
        await page.locator('#user').clear();
        for (const key of ${JSON.stringify(token)}) await page.locator('#user').press(key);
        await page.locator('#user').fill('done');
        await expect(page.locator('#long')).toHaveText('short', { timeout: 500 }).catch(() => undefined);
        await test.info().attach('note', { body: ${JSON.stringify(`attached ${password}`)}, contentType: 'text/plain' });
        await expect(page.locator('#echo')).toHaveText('something else than ' + ${JSON.stringify(password)}, { timeout: 500 });
      });`;
    const { outcome } = await stage.runBrowser(script, { context: { artifacts } });
    expect(outcome.failure?.code).toBe('SCRIPT_FAILED');
    const sealed = (await artifacts.seal(new FileScrubber(() => finder), 60_000)) as SealedArtifacts;
    const names = sealed.files.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['traces/logs-in.zip', 'report.json']));

    const leaks: string[] = [];
    let memberCount = 0;
    for (const { name, path } of sealed.files) {
      for (const [member, bytes] of await membersOf(name, await readFile(path))) {
        memberCount += 1;
        for (const secret of secrets) {
          for (const { form, leak } of writtenForms(secret)) {
            if (leak.length >= 8 && bytes.includes(leak)) leaks.push(`${form} in ${member}`);
          }
        }
        // Remains after a cut, broken text, or snapshots of a field while it is typed into.
        for (let length = 4; length < token.length; length += 1) {
          const part = token.slice(0, length);
          for (const end of ['…', '\\u2026', '"'])
            if (bytes.includes(part + end)) leaks.push(`${part}${end} in ${member}`);
        }
        // Values of credential headers are always masked, whatever they are.
        for (const value of [cookieValue, 'header-of-its-own-1234']) {
          if (bytes.includes(value)) leaks.push(`${value} in ${member}`);
        }
      }
    }
    expect(leaks).toEqual([]);
    expect(memberCount).toBeGreaterThan(10);
    // The detail passes through the scrubber of results.
    const detail = new Scrubber(secrets).json(outcome.detail);
    for (const secret of secrets) {
      for (const { leak } of writtenForms(secret))
        if (leak.length >= 8) expect(Buffer.from(detail).includes(leak)).toBe(false);
    }

    const trace = sealed.files.find(({ name }) => name === 'traces/logs-in.zip');
    expect(await shownActions(trace?.path ?? '')).toContain('Fill');
  });

  /** The actions that Playwright's trace viewer shows for a trace: its server in a process, its page in a browser. */
  async function shownActions(path: string): Promise<string> {
    const cli = join(runtimesDirectory, stage.runtimes.ids[0] ?? '', 'node_modules/playwright/cli.js');
    const viewer = spawn(process.execPath, [cli, 'show-trace', '--host', '127.0.0.1', '--port', '0', path], {
      // No browser can be opened; the address is printed anyway.
      env: { PATH: '', BROWSER: 'none' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    try {
      const url = await new Promise<string>((resolve, reject) => {
        let output = '';
        const look = (chunk: Buffer) => {
          output += chunk.toString();
          const found = /http:\/\/\S+/.exec(output)?.[0];
          if (found) resolve(found);
        };
        viewer.stdout.on('data', look);
        viewer.stderr.on('data', look);
        viewer.on('exit', () => reject(new Error(`the viewer ended: ${output}`)));
      });
      const { outcome } = await stage.runBrowser(
        `import { test, expect } from '@playwright/test';
         test('views', async ({ page }) => {
           await page.goto(${JSON.stringify(url)});
           await expect(page.locator('.action-title').first()).toBeVisible({ timeout: 30000 });
           console.log((await page.locator('.action-title').allTextContents()).join(' | '));
         });`,
      );
      return outcome.detail.jobLog.map(({ msg }) => msg).join('\n');
    } finally {
      viewer.kill('SIGKILL');
    }
  }
});

/** A file, or all files of an archive and of nested archives, each also decompressed. */
async function membersOf(name: string, bytes: Buffer): Promise<[string, Buffer][]> {
  if (bytes.subarray(0, 4).toString('latin1') !== 'PK\u0003\u0004') return [[name, bytes]];
  const members: [string, Buffer][] = [];
  const archive = await fromBufferPromise(bytes, { lazyEntries: true });
  for await (const entry of archive.eachEntry()) {
    members.push([`name of ${entry.fileName}`, Buffer.from(entry.fileName)]);
    if (entry.fileName.endsWith('/')) continue;
    const inner = await buffer(await archive.openReadStreamPromise(entry));
    members.push(...(await membersOf(`${name}/${entry.fileName}`, inner)));
  }
  return members;
}
