import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { agentKey } from '../../helpers/agent/agent-process.ts';
import { FakeService } from '../../helpers/agent/fake-service/fake-service.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';

const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);
/** Third-party packages that only a service needs. */
const ofServices = ['@aws-sdk', '@nats-io', 'fastify', 'hono', 'kysely', 'nodemailer', 'openid-client'];
let folder = '';

/** The packages of `src` that a package needs, itself included, from their manifests. */
function neededBy(name: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(name)) return found;
  found.add(name);
  const manifest: { dependencies: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(join(root, 'src', name, 'package.json'), 'utf8'),
  );
  for (const dependency of Object.keys(manifest.dependencies)) {
    const [, ours] = /^@picket\/(.+)$/.exec(dependency) ?? [];
    if (ours !== undefined) neededBy(ours, found);
  }
  return found;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'picket-agent-alone-'));
  const manifests = globSync('src/{*,extras/*}/package.json', { cwd: root });
  for (const file of ['package.json', 'package-lock.json', '.npmrc', ...manifests]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
  for (const name of neededBy('agent'))
    cpSync(join(root, 'src', name), join(folder, 'src', name), { recursive: true });
  const args = ['ci', '--omit=dev', '--ignore-scripts', '--prefer-offline', '--workspace=@picket/agent'];
  await run('npm', args, { cwd: folder });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('installs without the packages of a service', () => {
  const installed = readdirSync(join(folder, 'node_modules'));
  expect(installed).toContain('undici');
  expect(ofServices.filter((name) => installed.includes(name))).toEqual([]);
});

it('runs a check of a URL', async () => {
  const service = new FakeService();
  await service.listen();
  const target = createServer((_, response) => response.end('up')).listen(0, '127.0.0.1');
  await once(target, 'listening');
  service.enqueue(leasedRun(`http://127.0.0.1:${(target.address() as AddressInfo).port}/`));
  const program = join(folder, 'agent.ts');
  writeFileSync(
    program,
    "import { startAgent } from '@picket/agent/start.ts';\nawait startAgent(process.env);\n",
  );
  const agent = spawn(process.execPath, [program], {
    cwd: folder,
    env: {
      SERVICE_URL: service.url,
      API_KEY: agentKey,
      AGENT_HEALTH_PORT: '0',
      SPOOL_DIR: join(folder, 'spool'),
      CHECK_TYPES: 'URL',
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
    target.close();
  }
  expect(service.results[0]).toMatchObject({ failure: null, isDegraded: false });
});
