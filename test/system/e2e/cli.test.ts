import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../../src/server/compose.ts';
import { startPicket } from '../../helpers/picket-process.ts';
import { leaveArtifacts, program } from '../../helpers/program.ts';
import { quietLogger } from '../../helpers/service/service.ts';
import { startSocksTarget } from '../../helpers/targets/socks-target.ts';

async function picket(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const process = startPicket(args, environment);
  const { code } = await process.ended;
  return { code, output: process.output() };
}

describe('picket', () => {
  it.each([
    [['--help']],
    [['agent', '--help']],
    [['service', '--help']],
    [['run', '--help']],
    [['service', 'add-key', '--help']],
    [['alerts', '--help']],
    [['silence', 'add', '--help']],
  ])('%j explains itself', async (args) => {
    const { code, output } = await picket(args);
    expect(code).toBe(0);
    expect(output).toContain('Usage: picket');
  });

  it('lists the settings of agent and service in their help', async () => {
    expect((await picket(['agent', '--help'])).output).toMatch(/API_KEY .*\(or API_KEY_FILE\) \[required\]/);
    expect((await picket(['service', '--help'])).output).toMatch(/PORT .*\[8080\]/);
  });

  it('ends with 2 for an unknown command or option', async () => {
    expect((await picket(['agnet'])).code).toBe(2);
    expect((await picket(['run', 'x', '--jsn'])).code).toBe(2);
  });

  it('explains what a command that needs a service requires', async () => {
    const unset = await picket(['alerts']);
    expect([unset.code, unset.output]).toEqual([2, expect.stringContaining('PICKET_API_KEY: is required')]);
  });

  it('has accounts only with a database, and lists them', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'picket-accounts-'));
    try {
      const environment = { DATA_DIR: join(folder, 'data') };
      const none = await picket(['service', 'add-account', 'A'], environment);
      expect([none.code, none.output]).toEqual([2, expect.stringContaining('there is no database')]);
      expect(await readdir(folder)).toEqual([]);
      const store = await openStore({ path: join(folder, 'data', 'picket.sqlite'), logger: quietLogger });
      await store.close();
      expect((await picket(['service', 'add-account', 'A'], environment)).code).toBe(0);
      const listed = await picket(['service', 'list-accounts', '--json'], environment);
      expect(JSON.parse(listed.output)).toMatchObject([{ name: 'A', keyCount: 1 }]);
      expect((await picket(['service', 'list-accounts'], environment)).output).toContain('keys');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('lists all configuration problems of the agent at once and ends with 2', async () => {
    const { code, output } = await picket(['agent'], {
      SERVICE_URL: 'ftp://x',
      AGENT_HEALTH_PORT: '70000',
      JOB_CONCURRENCY: '11',
    });
    expect(code).toBe(2);
    expect(output).toContain('4 problems in the configuration');
    for (const name of ['API_KEY', 'SERVICE_URL', 'AGENT_HEALTH_PORT', 'JOB_CONCURRENCY'])
      expect(output).toContain(`- ${name}: `);
  });

  it('lists all configuration problems of the service at once and ends with 2', async () => {
    const { code, output } = await picket(['service'], {
      PORT: 'http',
      BOOTSTRAP_API_KEY: 'short',
      LOG_LEVEL: 'loud',
    });
    expect(code).toBe(2);
    for (const name of ['PORT', 'BOOTSTRAP_API_KEY', 'LOG_LEVEL']) expect(output).toContain(`- ${name}: `);
  });
});

describe('picket run', () => {
  const target = createServer((request, response) => {
    response.writeHead(request.url === '/broken' ? 500 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ authorization: request.headers.authorization ?? null }));
  });
  let folder: string;
  let origin: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'picket-run-'));
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    target.close();
    await rm(folder, { recursive: true });
  });

  async function run(content: string, args: readonly string[] = [], environment = {}) {
    const file = join(folder, 'check.yaml');
    await writeFile(file, content);
    return await picket(['run', file, ...args], environment);
  }

  it('ends with 0 and a readable result when the check passes', async () => {
    const { code, output } = await run(`checkType: URL\nname: Home\nrequest: { url: "${origin}/" }`);
    expect(output).toMatch(/PASSED {2}Home {2}\(URL\) {2}[\d.]+ ms/);
    expect(output).toMatch(/TCP connection [\d.]+ ms, Waiting for response [\d.]+ ms/);
    expect(code).toBe(0);
  });

  it('ends with 1 and the reason when it fails', async () => {
    const { code, output } = await run(`checkType: URL\nname: Home\nrequest: { url: "${origin}/broken" }`);
    expect(output).toMatch(/FAILED {2}Home/);
    expect(output).toContain('STATUS_UNEXPECTED (the target)');
    expect(code).toBe(1);
  });

  it('prints one JSON result with --json', async () => {
    const { output } = await run(
      `checkType: API\nname: Home\nrequest: { url: "${origin}/", assertions: [{ source: STATUS_CODE, comparison: EQUALS, target: "201" }] }`,
      ['--json'],
    );
    expect(JSON.parse(output)).toMatchObject({
      name: 'Home',
      checkType: 'API',
      verdict: 'FAILED',
      failure: { owner: 'target', code: 'ASSERTION_FAILED' },
      detail: { response: { status: 200 }, assertions: [{ source: 'STATUS_CODE' }] },
    });
  });

  it('fills in variables from --env and masks secrets in its output', async () => {
    const { output } = await run(
      `checkType: API
name: Home
request:
  url: "${origin}/?user={{USER_NAME}}&token={{SERVICE_SECRET_TOKEN}}"
  headers: [{ key: authorization, value: "Bearer {{SERVICE_SECRET_TOKEN}}" }]`,
      ['--json', '--env', 'USER_NAME=ada'],
      { SERVICE_SECRET_TOKEN: 'correct-horse-battery' },
    );
    expect(output).toContain('user=ada');
    expect(output).toContain('*********');
    expect(output).not.toContain('correct-horse-battery');
  });

  it('accepts options before the file, and secrets from files like an agent', async () => {
    const secretFile = join(folder, 'token');
    await writeFile(secretFile, 'correct-horse-battery\n');
    const file = join(folder, 'before.yaml');
    await writeFile(
      file,
      `checkType: API
name: Home
request:
  url: "${origin}/?user={{USER_NAME}}"
  headers: [{ key: authorization, value: "Bearer {{SERVICE_SECRET_TOKEN}}" }]
  assertions: [{ source: JSON_BODY, property: $.authorization, comparison: EQUALS, target: "Bearer correct-horse-battery" }]`,
    );
    const { code, output } = await picket(['run', '--env', 'USER_NAME=ada', '--json', file], {
      SERVICE_SECRET_TOKEN_FILE: secretFile,
    });
    expect(output).toContain('user=ada');
    expect(output).not.toContain('correct-horse-battery');
    expect(code).toBe(0);
  });

  it('reads secrets by reference like an agent, and says why one is not there', async () => {
    const secretFile = join(folder, 'app.json');
    await writeFile(secretFile, '{"token":"correct-horse-battery"}');
    const check = `checkType: API
name: Home
request:
  url: "${origin}/?token={{SERVICE_SECRET_TOKEN}}"
  assertions: [{ source: STATUS_CODE, comparison: EQUALS, target: "200" }]`;
    const found = await run(check, ['--json'], { SECRET_FROM_TOKEN: `file:${secretFile}#token` });
    expect(found.output).toContain('token=*********');
    expect(found.output).not.toContain('correct-horse-battery');
    expect(found.code).toBe(0);
    const missing = await run(check, [], { SECRET_FROM_TOKEN: `file:${secretFile}#other` });
    expect(missing.output).toContain('SECRET_UNAVAILABLE (the location, not the target)');
    expect(missing.output).toContain('the content has no field "other"');
    expect(missing.code).toBe(1);
  });

  it("keeps the run's artifacts in the folder of --artifacts", async () => {
    const wanted = [
      { name: 'shots/one.png', contentType: 'image/png', text: 'pixels' },
      { name: '../escape.png', contentType: 'image/png', text: 'x' },
    ];
    const file = join(folder, 'check.yaml');
    const url = `${origin}/?artifacts=${encodeURIComponent(JSON.stringify(wanted))}`;
    await writeFile(file, `checkType: URL\nname: Home\nrequest: { url: "${url}" }`);
    const { stdout: output } = await promisify(execFile)(process.execPath, [
      ...['--import', leaveArtifacts, program],
      ...['run', file, '--artifacts', join(folder, 'evidence')],
    ]);
    expect(output).toContain('artifact shots/one.png: 6 bytes');
    expect(output).toContain('artifact ../escape.png: its name may have');
    expect(await readdir(join(folder, 'evidence'), { recursive: true })).toEqual(['shots', 'shots/one.png']);
    expect(await readFile(join(folder, 'evidence', 'shots', 'one.png'), 'utf8')).toBe('pixels');
  });

  it('ends with 2 if the proxy is not a valid address', async () => {
    const { code, output } = await run(`checkType: URL\nrequest: { url: "${origin}/" }`, [
      '--proxy',
      'localhost:3128',
    ]);
    expect(code).toBe(2);
    expect(output).toContain('--proxy localhost:3128: must be an http://, https:// or socks5:// address');
  });

  it('uses a SOCKS proxy, like checks of a location', async () => {
    await using proxy = await startSocksTarget({ login: { user: 'anna', password: 'p@ss' } });
    const { code } = await run(`checkType: URL\nrequest: { url: "${origin}/" }`, ['--proxy', proxy.url]);
    expect([code, proxy.requests]).toEqual([0, [`ipv4 ${new URL(origin).host}`]]);
  });

  it('ends with 2 if the file is wrong or missing, or a variable is malformed', async () => {
    const wrong = await run('checkType: URL\nrequest: { ulr: x }');
    expect(wrong.code).toBe(2);
    expect(wrong.output).toContain('request.url');
    expect((await picket(['run', join(folder, 'none.yaml')])).code).toBe(2);
    expect((await run(`checkType: URL\nrequest: { url: "${origin}/" }`, ['--env', 'NOVALUE'])).code).toBe(2);
  });
});
