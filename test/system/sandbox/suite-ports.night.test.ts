import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSandboxes, type SandboxPool } from '../../../src/sandbox/pool/pool.ts';
import {
  linkRuntime,
  type SuiteFiles,
  type SuiteStage,
  startSuiteStage,
} from '../../helpers/scripts/suite-stage.ts';

/**
 * A suite's web server against a server of the host on the same port, which responds successfully. Playwright's initial
 * configuration leads to that: `reuseExistingServer: !process.env.CI`.
 */
const isRoot = process.getuid?.() === 0;

const ownServer = `
  const port = Number(process.argv[2]);
  require('node:http').createServer((request, response) => response.end('mine')).listen(port, process.argv[3] ?? '0.0.0.0');`;
const suite = (webServer: string, baseUrl: string, more: SuiteFiles = {}): SuiteFiles => ({
  'server.cjs': ownServer,
  'playwright.config.ts': `import { defineConfig } from '@playwright/test';
    export default defineConfig({ retries: 0, use: { baseURL: '${baseUrl}' }, webServer: ${webServer} });`,
  'a.spec.ts': `import { test, expect } from '@playwright/test';
    test('is served by its own server', async ({ request }) => { expect(await (await request.get('/')).text()).toBe('mine'); });`,
  ...more,
});

/** Command lines of running processes of runs: all processes of a run inherit the name of its notes. */
function processesOf(folder: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const variables = readFileSync(`/proc/${pid}/environ`, 'utf8');
        if (!variables.includes(`PICKET_NOTES=${folder}/`)) return [];
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')];
      } catch {
        return []; // it has ended
      }
    });
}

describe('a web server of a suite', () => {
  let stage: SuiteStage;
  let stranger: Server;
  let port: number;
  let visits: string[] = [];
  let directory: string;
  let pool: SandboxPool | undefined;

  beforeAll(async () => {
    stage = await startSuiteStage();
    stranger = createServer((request, response) => {
      visits.push(request.url ?? '');
      response.end('mine'); // what makes a suite pass that tested nothing of its own
    });
    await once(stranger.listen(0, '::'), 'listening');
    ({ port } = stranger.address() as AddressInfo);
    directory = mkdtempSync(join(tmpdir(), 'picket-suite-ports-'));
    chmodSync(directory, 0o755);
    if (!isRoot || stage.missing) return;
    pool = await openSandboxes({
      directory: join(directory, 'sandboxes'),
      slotCount: 2,
      firstUid: 31_700,
      mechanism: 'uid+namespaces',
    });
  }, 120_000);
  afterAll(async () => {
    stranger.close();
    await pool?.close();
    await stage.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const inNetwork = async (files: SuiteFiles, spec: Readonly<Record<string, unknown>> = {}) => {
    visits = [];
    const sandboxes = pool;
    if (!sandboxes) throw new Error('no pool');
    return await stage.run(files, {
      spec: { ...linkRuntime(stage), ...spec },
      host: { ...stage.host, acquireSandbox: (signal) => sandboxes.acquire(signal) },
    });
  };

  describe.skipIf(!isRoot)('if runs have a separate network', () => {
    const forms: Record<string, () => SuiteFiles> = {
      'by its port': () =>
        suite(
          `{ command: 'node server.cjs ${port}', port: ${port}, reuseExistingServer: true }`,
          `http://localhost:${port}`,
        ),
      'by a URL of IPv6, among several': () =>
        suite(
          `[{ command: 'node server.cjs ${port} ::1', url: 'http://[::1]:${port}/ready', reuseExistingServer: true }]`,
          `http://[::1]:${port}`,
        ),
      'that may not exist yet': () =>
        suite(
          `{ command: 'node server.cjs ${port}', url: 'http://127.0.0.1:${port}', reuseExistingServer: false }`,
          `http://127.0.0.1:${port}`,
        ),
    };
    for (const [host, listensAt] of [
      ['0.0.0.0', '0.0.0.0'],
      ['127.0.0.2', '127.0.0.2'],
      ['[::ffff:127.0.0.1]', '0.0.0.0'],
      [hostname(), '::'],
    ] as const) {
      forms[`as ${host}, listening at ${listensAt}`] = () =>
        suite(
          `{ command: 'node server.cjs ${port} ${listensAt}', url: 'http://${host}:${port}', reuseExistingServer: true }`,
          `http://${host}:${port}`,
        );
    }
    forms['among several of whom one ignores SIGTERM and one becomes a daemon'] = () =>
      suite(
        `[{ command: 'node stubborn.cjs 40405', url: 'http://127.0.0.1:40405', reuseExistingServer: true },
          { command: 'node daemon.cjs ${port}', url: 'http://localhost:${port}', reuseExistingServer: true }]`,
        `http://localhost:${port}`,
        {
          'stubborn.cjs': `process.on('SIGTERM', () => {}); process.on('SIGINT', () => {}); ${ownServer}`,
          'daemon.cjs': `const { spawn } = require('node:child_process');
            spawn(process.execPath, [require.resolve('./stubborn.cjs'), process.argv[2]], { detached: true, stdio: 'ignore' }).unref();
            setInterval(() => {}, 1000);`,
        },
      );
    const others = Object.values(networkInterfaces()).flat();
    const address = others.find((one) => one?.family === 'IPv4' && !one.internal)?.address;
    if (address !== undefined) {
      forms['by an address of the host'] = () =>
        suite(
          `{ command: 'node server.cjs ${port}', url: 'http://${address}:${port}', reuseExistingServer: true }`,
          `http://${address}:${port}`,
        );
    }
    for (const [name, files] of Object.entries(forms)) {
      it(`${name} is the only one that responds`, { timeout: 120_000 }, async () => {
        const { outcome } = await inNetwork(files());
        expect(outcome.failure).toBeUndefined();
        expect(outcome.detail.stats).toMatchObject({ expected: 1 });
        expect(visits).toEqual([]);
        await expect.poll(() => processesOf(directory), { timeout: 30_000 }).toEqual([]);
      });
    }

    it('is separate in each of two concurrent runs of one suite', { timeout: 120_000 }, async () => {
      const marked = (mark: string) =>
        suite(
          `{ command: 'node own.cjs ${port} ${mark}', port: ${port}, reuseExistingServer: true }`,
          `http://localhost:${port}`,
          {
            'own.cjs': `require('node:http').createServer((request, response) => response.end(process.argv[3])).listen(Number(process.argv[2]));`,
            'a.spec.ts': `import { test, expect } from '@playwright/test';
              test('is served by its own', async ({ request }) => {
                const end = Date.now() + 3000;
                while (Date.now() < end) expect(await (await request.get('/')).text()).toBe('${mark}');
              });`,
          },
        );
      const runs = await Promise.all(['one', 'two'].map((mark) => inNetwork(marked(mark))));
      for (const { outcome } of runs) expect(outcome.failure).toBeUndefined();
      expect(visits).toEqual([]);
      await expect.poll(() => processesOf(directory), { timeout: 30_000 }).toEqual([]);
    });

    it('that does not start fails the run instead of using the stranger', { timeout: 120_000 }, async () => {
      const { outcome } = await inNetwork(
        suite(
          `{ command: 'sleep 600', url: 'http://localhost:${port}', timeout: 2000, reuseExistingServer: true }`,
          `http://localhost:${port}`,
        ),
      );
      expect(outcome.failure).toMatchObject({ code: 'SCRIPT_INVALID' });
      expect(outcome.failure?.message).toContain('Timed out waiting 2000ms from config.webServer');
      expect(visits).toEqual([]);
    });

    it('that the command starts before Playwright is used', { timeout: 120_000 }, async () => {
      const { outcome } = await inNetwork(
        suite(
          `{ command: 'exit 1', url: 'http://localhost:${port}', reuseExistingServer: true }`,
          `http://localhost:${port}`,
        ),
        {
          testCommand: `node server.cjs ${port} & until node -e "require('net').connect(${port}, '127.0.0.1').on('connect', () => process.exit(0)).on('error', () => process.exit(1))"; do :; done; npx playwright test; code=$?; kill %1; exit $code`,
        },
      );
      expect(outcome.failure).toBeUndefined();
    });

    it('leaves the other ports of the host unchanged', { timeout: 120_000 }, async () => {
      const { outcome } = await inNetwork(
        suite(`{ command: 'node server.cjs 40404', port: 40404 }`, `http://localhost:${port}`),
      );
      expect(outcome.failure).toBeUndefined();
      expect(visits).toEqual(['/']);
    });
  });

  describe('if runs share the loopback of their host', () => {
    const shared = async (files: SuiteFiles, spec: Readonly<Record<string, unknown>> = {}) => {
      visits = [];
      return await stage.run(files, { spec: { ...linkRuntime(stage), ...spec } });
    };

    it('reports a foreign server at its port, and never contacts it', { timeout: 120_000 }, async () => {
      for (const reuse of [true, false]) {
        const { outcome } = await shared(
          suite(
            `[{ command: 'node server.cjs ${port}', url: 'http://localhost:${port}', reuseExistingServer: ${reuse} }]`,
            `http://localhost:${port}`,
          ),
        );
        expect(outcome.failure).toMatchObject({ code: 'SCRIPT_INVALID', owner: 'config' });
        expect(outcome.failure?.message).toContain(
          `port ${port} of webServer is in use by another program on the host of the agent`,
        );
        expect(visits).toEqual([]);
      }
    });

    it('that the command starts before Playwright is used', { timeout: 120_000 }, async () => {
      const free = createServer();
      await once(free.listen(0), 'listening');
      const { port: own } = free.address() as AddressInfo;
      await new Promise((resolve) => free.close(resolve));
      const { outcome } = await shared(
        suite(`{ command: 'exit 1', port: ${own}, reuseExistingServer: true }`, `http://localhost:${own}`),
        {
          testCommand: `node server.cjs ${own} & until node -e "require('net').connect(${own}, '127.0.0.1').on('connect', () => process.exit(0)).on('error', () => process.exit(1))"; do :; done; npx playwright test; code=$?; kill %1; exit $code`,
        },
      );
      expect(outcome.failure).toBeUndefined();
    });
  });
});
