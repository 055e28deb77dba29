import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { BrowserMissing, findBrowser } from '../../../src/sandbox/browsers/find-browser.ts';
import { unpackedChromiumPath } from '../../../src/sandbox/browsers/unpacked-chromium.ts';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { diagnose } from '../../helpers/agent/doctor-run.ts';
import { FakeService } from '../../helpers/agent/fake-service/fake-service.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';

const fakeService = fileURLToPath(new URL('../../helpers/agent/fake-service/main.ts', import.meta.url));
const memoryGroups = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup'];
const longMs = 90_000;

/** Real faults of the host; the doctor must report exactly the one that was injected. */
describe('picket doctor', { timeout: 120_000 }, () => {
  const folder = temporaryFolder();
  // The users of sandboxes must be able to traverse it.
  const scripts = temporaryFolder();
  const spool = join(folder.path, 'spool');
  const authorities = join(folder.path, 'authorities');
  let service: FakeService;
  let secure: FakeService;
  let missingRuntimes: string | undefined;
  let missingBrowser: string | undefined;
  let withScripts: Readonly<Record<string, string>>;

  beforeAll(async () => {
    const authority = await createAuthority('Private root');
    mkdirSync(spool);
    mkdirSync(authorities);
    writeFileSync(join(authorities, 'private.pem'), authority.cert);
    service = new FakeService();
    secure = new FakeService(await authority.issue());
    await Promise.all([service.listen(), secure.listen()]);
    if ((await readRuntimes(runtimesDirectory)).ids.length === 0) {
      missingRuntimes = 'no runtime is installed: npm run runtimes:install';
    }
    try {
      const unpackedPath = unpackedChromiumPath(runtimesDirectory);
      await findBrowser({ chromiumPath: process.env.CHROMIUM_PATH, unpackedPath });
    } catch (thrown) {
      if (!(thrown instanceof BrowserMissing)) throw thrown;
      missingBrowser = thrown.message;
    }
    withScripts = {
      SERVICE_URL: service.url,
      RUNTIMES_DIR: runtimesDirectory,
      SCRIPTS_DIR: scripts.path,
      SPOOL_DIR: spool,
      ALLOW_UNISOLATED_SCRIPTS: 'true',
      ...(process.env.CHROMIUM_PATH ? { CHROMIUM_PATH: process.env.CHROMIUM_PATH } : {}),
    };
  });

  afterAll(async () => {
    await Promise.all([service?.close(), secure?.close()]);
    folder.remove();
    scripts.remove();
  });

  function needsNamespaces(context: TestContext) {
    const reason = whyNoNamespaces();
    if (reason) context.skip(reason);
  }
  function needsRuntime(context: TestContext) {
    if (missingRuntimes) context.skip(missingRuntimes);
  }
  function needsBrowser(context: TestContext) {
    needsRuntime(context);
    if (missingBrowser) context.skip(missingBrowser);
  }

  it('tests every consumer of CA_CERTS_DIR, and leaves nothing behind', {
    timeout: longMs,
  }, async (context) => {
    needsBrowser(context);
    const { findings, finding, exitCode } = await diagnose({
      ...withScripts,
      SERVICE_URL: secure.url,
      CA_CERTS_DIR: authorities,
    });
    // Compares whole findings, so that a failed test shows their reasons.
    expect(findings.filter(({ status }) => status === 'problem')).toEqual([]);
    expect(exitCode).toBe(0);
    expect(finding('authorities', 'CN=Private root')).toMatchObject({ status: 'ok' });
    expect(finding('checks')?.detail).toContain('over TLS');
    for (const type of ['URL', 'API', 'TCP', 'MULTI_STEP', 'BROWSER']) {
      expect(finding('checks', type), type).toMatchObject({
        status: 'ok',
        detail: expect.stringContaining('works'),
      });
    }
    expect(readdirSync(spool)).toEqual([]);
    expect(readdirSync(join(scripts.path, '0/sandboxes')).filter((name) => name.startsWith('slot-'))).toEqual(
      [],
    );
  });

  it('reports a full disk', async (context) => {
    needsNamespaces(context);
    const { problems, problem } = await diagnose(
      { SERVICE_URL: service.url, SPOOL_DIR: spool },
      { preparation: `mount -t tmpfs -o size=64k tmpfs ${spool}` },
    );
    expect(problems).toEqual(['disk SPOOL_DIR']);
    expect(problem).toMatchObject({
      detail: expect.stringContaining('the disk is full'),
      fix: expect.stringContaining('Free some'),
    });
  });

  it('reports a read-only spool', async (context) => {
    needsNamespaces(context);
    const { problems, problem } = await diagnose(
      { SERVICE_URL: service.url, SPOOL_DIR: spool },
      { preparation: `mount -t tmpfs -o ro tmpfs ${spool}` },
    );
    expect(problems).toEqual(['disk SPOOL_DIR']);
    expect(problem).toMatchObject({
      detail: expect.stringContaining('read-only'),
      fix: expect.stringContaining('emptyDir'),
    });
  });

  it('reports a group range that does not allow pings', async (context) => {
    needsNamespaces(context);
    // A separate network whose group range is the kernel's default, which includes no group. The service must be inside
    // it.
    const started = join(folder.path, 'started');
    const inNetwork = `ip link set lo up
      "$NODE" ${fakeService} 8090 > ${started} &
      until grep -q 'fake service' ${started}; do sleep 0.05; done
      "$@"; code=$?
      kill $!; exit $code`;
    const { problems, problem, finding } = await diagnose(
      { SERVICE_URL: 'http://127.0.0.1:8090', NODE: process.execPath },
      {
        wrapper: [
          'unshare',
          '--net',
          '/bin/sh',
          '-c',
          inNetwork,
          'ward',
          'setpriv',
          '--bounding-set=-net_raw',
        ],
      },
    );
    expect(problems).toEqual(['icmp']);
    expect(problem?.fix).toContain('net.ipv4.ping_group_range');
    expect(finding('capture')).toMatchObject({ status: 'warning', fix: expect.stringContaining('NET_RAW') });
    expect(finding('checks', 'ICMP')).toMatchObject({ status: 'skipped' });
  });

  it('reports a browser that does not start', { timeout: longMs }, async (context) => {
    needsRuntime(context);
    const { problems, finding } = await diagnose({ ...withScripts, CHROMIUM_PATH: '/bin/false' });
    expect(problems).toEqual(['browser']);
    expect(finding('browser')?.detail).toContain('does not start');
    expect(finding('checks', 'BROWSER')).toMatchObject({
      status: 'skipped',
      detail: 'not offered: see browser',
    });
    expect(finding('checks', 'MULTI_STEP')).toMatchObject({ status: 'ok' });
  });

  it('reports too little memory for the concurrent scripts, and a missing browser', {
    timeout: longMs,
  }, async (context) => {
    needsRuntime(context);
    const group = limitedGroup(1_500_000_000);
    if (group === undefined) context.skip('no control group for memory can be made here');
    try {
      const { problems, problem, finding } = await diagnose(
        { ...withScripts, CHROMIUM_PATH: '/nonexistent/chromium', JOB_CONCURRENCY: '4' },
        { wrapper: ['/bin/sh', '-c', `echo 0 > ${group}/cgroup.procs; exec "$@"`, 'ward'] },
      );
      expect(problems).toEqual(['memory', 'browser']);
      expect(problem).toMatchObject({
        detail: expect.stringMatching(/1\.5 GB for JOB_CONCURRENCY=4/),
        fix: expect.stringMatching(/set JOB_CONCURRENCY to 1/),
      });
      expect(finding('browser')?.fix).toContain('CHROMIUM_PATH');
      expect(finding('checks', 'MULTI_STEP')).toMatchObject({ status: 'ok' });
    } finally {
      rmdirSync(group ?? '');
    }
  });

  it('reports a tiny /dev/shm if scripts have no separate one', { timeout: longMs }, async (context) => {
    needsNamespaces(context);
    needsBrowser(context);
    const { problems, problem } = await diagnose(withScripts, {
      preparation: 'mount -t tmpfs -o size=1m tmpfs /dev/shm',
      wrapper: ['setpriv', '--bounding-set=-sys_admin'],
    });
    expect(problems).toEqual(['shared-memory']);
    expect(problem?.fix).toContain('--shm-size');
  });
});

/** Creates a control group with a memory limit, which the caller removes; undefined if that is not possible. */
function limitedGroup(limitBytes: number): string | undefined {
  for (const parent of memoryGroups) {
    const group = join(parent, `picket-doctor-${process.pid}`);
    try {
      mkdirSync(group);
    } catch {
      continue; // another version of control groups, or no permission
    }
    for (const limit of ['memory.limit_in_bytes', 'memory.max']) {
      if (!existsSync(join(group, limit))) continue;
      writeFileSync(join(group, limit), String(limitBytes));
      return group;
    }
    rmdirSync(group);
  }
  return undefined;
}
