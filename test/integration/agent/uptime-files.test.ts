import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { packageVersion } from '../../../src/lib/version.ts';
import { agentKey } from '../../helpers/agent/agent-process.ts';
import { FakeService } from '../../helpers/agent/fake-service/fake-service.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';

const root = join(import.meta.dirname, '../../..');
/** As in Dockerfile.uptime. */
const imageFlags = ['--max-semi-space-size=8', '--min-semi-space-size=8'];
const run = promisify(execFile);
let folder = '';

beforeAll(async () => {
  // Next to the sources, as in the image: package.json and the addons are above it.
  folder = mkdtempSync(join(root, '.compiled-uptime-'));
  await run(process.execPath, [join(root, 'scripts/bundle.ts'), 'uptime', folder], { cwd: root });
  await run(process.execPath, [join(root, 'scripts/bundle/compile.mjs'), folder, 'agent']);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('has scripts whose compiled form V8 accepts, with the flags of the image', async () => {
  const source = `
    const { globSync, readFileSync } = require('node:fs');
    const files = globSync(${JSON.stringify(folder)} + '/*.cjs');
    for (const file of files) {
      const cachedData = readFileSync(file + '.compiled');
      const script = new (require('node:vm').Script)(readFileSync(file, 'utf8'), { cachedData });
      if (script.cachedDataRejected) console.log('not taken:', file);
    }
    for (const name of ['agent', 'kernel-worker', 'probe-worker', 'spool-worker'])
      if (!files.some((file) => file.endsWith('/' + name + '.cjs'))) console.log('missing:', name);`;
  const { stdout } = await run(process.execPath, [...imageFlags, '-e', source]);
  expect(stdout).toBe('');
});

it('runs checks', async () => {
  const service = new FakeService();
  await service.listen();
  service.enqueue(leasedRun(`${service.url}/`));
  const agent = spawn(process.execPath, [...imageFlags, join(folder, 'agent.js'), 'agent'], {
    env: {
      ...{
        SERVICE_URL: service.url,
        API_KEY: agentKey,
        AGENT_HEALTH_PORT: '0',
        SPOOL_DIR: join(folder, 'spool'),
      },
      CHECK_TYPES: 'URL,DNS,DOMAIN,TCP,UDP,SQL,SSL,GRPC,WEBSOCKET,ICMP,TRACEROUTE,NTP',
    },
    stdio: 'ignore',
  });
  const ended = once(agent, 'exit');
  try {
    await service.waitFor('a result', () => service.results.length > 0);
  } finally {
    agent.kill('SIGTERM');
    await ended;
    await service.close();
  }
  expect(await ended).toEqual([0, null]);
});

it('has the other commands', async () => {
  const agent = join(folder, 'agent.js');
  expect((await run(process.execPath, [agent, '--version'])).stdout).toBe(`${packageVersion()}\n`);
  await expect(run(process.execPath, [agent, 'service'])).rejects.toMatchObject({ code: 2 });
});
