import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openSandboxes, type SandboxPool } from '../../../src/sandbox/pool/pool.ts';
import { type SandboxLimits, SandboxUnavailable } from '../../../src/sandbox/sandbox.ts';
import { isNight } from '../../helpers/night.ts';
import { abuseLimits } from './abuse-cases.ts';
import { isKilled, processesOfUid, supervisorPidOf } from './processes.ts';

const isRoot = process.getuid?.() === 0;
const firstUid = 25_000;
const soon = () => AbortSignal.timeout(100_000);
let directory: string;
let pool: SandboxPool | undefined;

beforeEach(() => {
  directory = mkdtempSync('/var/tmp/picket-pool-');
});
afterEach(async () => {
  await pool?.close();
  pool = undefined;
  rmSync(directory, { recursive: true, force: true });
});

async function open(more: Partial<Parameters<typeof openSandboxes>[0]> = {}): Promise<SandboxPool> {
  pool = await openSandboxes({ directory, slotCount: 1, firstUid, isUnisolatedAllowed: true, ...more });
  return pool;
}

async function run(from: SandboxPool, script: string, limits: Partial<SandboxLimits> = {}, input?: Buffer) {
  const sandbox = await from.acquire(soon());
  let output = '';
  const events: string[] = [];
  const program = sandbox.start({
    path: '/bin/sh',
    args: ['-c', script],
    environment: { GREETING: 'hello' },
    limits: { ...abuseLimits, ...limits },
    onOutput: (_stream, chunk) => {
      output += chunk.toString('utf8');
    },
    onEvent: (line) => events.push(line),
  });
  if (input) program.input.end(input);
  const end = await program.ended;
  await sandbox.release();
  return { output, events, end };
}

describe('a sandboxed program', () => {
  let from: SandboxPool;
  let place: string;
  beforeAll(async () => {
    place = mkdtempSync('/var/tmp/picket-pool-');
    from = await openSandboxes({ directory: place, slotCount: 1, firstUid, isUnisolatedAllowed: true });
  });
  afterAll(async () => {
    await from.close();
    rmSync(place, { recursive: true, force: true });
  });

  it('gets its input, its environment and nothing else, and writes to three streams', async () => {
    const script = 'wc -c; env; echo err >&2; printf "one\\ntwo" >&3; exit 7';
    const { output, events, end } = await run(from, script, {}, Buffer.alloc(1_000_000));
    const names = output
      .split('\n')
      .slice(1)
      .filter((line) => line.includes('='))
      .map((line) => line.split('=')[0]);
    expect(output).toMatch(/^1000000\n/);
    expect(output).toContain('err\n');
    expect(names.filter((name) => name !== 'PWD' && name !== 'PICKET_SANDBOX').sort()).toEqual([
      'GREETING',
      'HOME',
      'PATH',
      'TMPDIR',
      'TZ',
    ]);
    expect(events).toEqual(['one', 'two']);
    expect(end).toMatchObject({ reason: 'exited', exitCode: 7, signal: null });
  });

  it('can be asked to end, and be killed', async () => {
    const sandbox = await from.acquire(soon());
    const start = (script: string) => {
      let onLine: () => void = () => undefined;
      const ready = new Promise<void>((resolve) => {
        onLine = resolve;
      });
      const program = sandbox.start({
        path: '/bin/sh',
        args: ['-c', script],
        environment: {},
        limits: abuseLimits,
        onOutput: () => onLine(),
      });
      return { program, ready };
    };
    const polite = start('trap "exit 9" INT; echo ready; while :; do sleep 0.05; done');
    await polite.ready;
    polite.program.interrupt();
    expect(await polite.program.ended).toMatchObject({ reason: 'exited', exitCode: 9 });
    const deaf = start('trap "" INT TERM; echo ready; while :; do sleep 0.05; done');
    await deaf.ready;
    deaf.program.interrupt();
    deaf.program.kill();
    expect(await deaf.program.ended).toMatchObject({ reason: 'killed', signal: 'SIGKILL' });
    await sandbox.release();
  });

  it.each([
    ['exits', 'exit 0', {}, { reason: 'exited', exitCode: 0 }],
    ['dies of a signal', 'kill -SEGV $$', {}, { reason: 'exited', signal: 'SIGSEGV' }],
    ['takes too long', 'sleep 100', { wallMs: 300 }, { reason: 'wall' }],
    ['takes too much processor time', 'while :; do :; done', { cpuMs: 300 }, { reason: 'cpu' }],
    [
      'writes too much',
      'while :; do echo xxxxxxxxxxxxxxxx; done',
      { outputBytes: 10_000 },
      { reason: 'output' },
    ],
    [
      'keeps too much',
      'while :; do head -c 1000000 /dev/zero >> f; cp f g; done',
      { diskBytes: 2_000_000 },
      { reason: 'disk' },
    ],
    [
      'starts too many',
      'while :; do sleep 9 & done 2>/dev/null',
      { processCount: 20 },
      { reason: 'processes' },
    ],
    [
      'holds too much',
      'x=xxxxxxxx; while :; do x=$x$x; done',
      { memoryBytes: 60_000_000 },
      { reason: 'memory' },
    ],
  ] as const)('that %s ends with the reason', async (_name, script, limits, expected) => {
    expect((await run(from, script, limits)).end).toMatchObject(expected);
  });

  it('that waits for its input is measured from then on, with all it holds already', async () => {
    const sandbox = await from.acquire(soon());
    const fill = 'for f in first before; do head -c 1500000 /dev/zero > $f; done; read x; exec sleep 100';
    const program = sandbox.start({
      path: '/bin/sh',
      args: ['-c', fill],
      environment: {},
      limits: { ...abuseLimits, diskBytes: 2_000_000 },
      isOwnUntilInput: true,
      onOutput: () => undefined,
    });
    await vi.waitUntil(() => existsSync(join(sandbox.directory, 'before')), { timeout: 20_000 });
    program.input.write('go\n');
    expect(await program.ended).toMatchObject({ reason: 'disk' });
    await sandbox.release();
  });

  it('that does not exist is distinguished from one that fails', async () => {
    const sandbox = await from.acquire(soon());
    const start = { args: [], environment: {}, limits: abuseLimits, onOutput: () => undefined };
    const end = await sandbox.start({ ...start, path: '/nowhere/program' }).ended;
    expect(end).toMatchObject({ reason: 'notStarted', problem: expect.stringContaining('/nowhere/program') });
    await sandbox.release();
  });
});

describe('a pool', () => {
  it('gives a slot to one run at a time, in order, and releases aborted waiters', async () => {
    const from = await open();
    const first = await from.acquire(soon());
    const impatient = from.acquire(AbortSignal.timeout(30));
    const second = from.acquire(soon());
    await expect(impatient).rejects.toThrow(/timeout/i);
    await first.release();
    const sandbox = await second;
    expect(readdirSync(sandbox.directory)).toEqual(['.tmp']);
    await sandbox.release();
    await expect(sandbox.write('late', '')).rejects.toThrow('released');
  });

  it('refuses paths that lead out of a sandbox', async () => {
    const sandbox = await (await open()).acquire(soon());
    for (const path of ['../x', '/etc/x', 'a/../../x', '', 'a//b', '.']) {
      await expect(sandbox.write(path, '')).rejects.toThrow('not a path below');
    }
    await sandbox.release();
  });

  it('refuses a folder that another agent uses', async () => {
    await open();
    await expect(openSandboxes({ directory, slotCount: 1 })).rejects.toThrow(/in use by another agent/);
  });

  it.skipIf(!isRoot)(
    'refuses to start if the code could not read its files, and names the obstacle',
    async () => {
      const closed = join(directory, 'home', 'runtime');
      mkdirSync(closed, { recursive: true });
      chmodSync(join(directory, 'home'), 0o700);
      await expect(
        openSandboxes({
          directory: join(directory, 'boxes'),
          slotCount: 1,
          firstUid,
          readablePaths: [closed],
        }),
      ).rejects.toThrow(SandboxUnavailable);
    },
  );

  it.skipIf(!isRoot)('refuses a world-readable key that it cannot hide', async () => {
    chmodSync(directory, 0o755);
    writeFileSync(join(directory, 'key'), 'secret', { mode: 0o644 });
    const boxes = join(directory, 'boxes');
    const options = { directory: boxes, slotCount: 1, firstUid, privatePaths: [join(directory, 'key')] };
    await expect(openSandboxes({ ...options, mechanism: 'uid' })).rejects.toThrow(/must not be/);
  });

  it('starts a new supervisor when the old one was killed, and reports running programs', async () => {
    const from = await open();
    const sandbox = await from.acquire(soon());
    const program = sandbox.start({
      path: '/bin/sh',
      args: ['-c', 'sleep 1000'],
      environment: {},
      limits: abuseLimits,
      onOutput: () => undefined,
    });
    process.kill(supervisorPidOf(process.pid) ?? 0, 'SIGKILL');
    expect(await program.ended).toMatchObject({
      reason: 'killed',
      problem: expect.stringContaining('supervisor'),
    });
    await sandbox.release();
    expect((await run(from, 'echo again')).output).toBe('again\n');
  });
});

it.skipIf(!isRoot)('sandboxes open with mounts below covered folders, or hidden ones', async () => {
  const place = mkdtempSync('/tmp/picket-mounts-');
  chmodSync(directory, 0o755);
  const main = join(import.meta.dirname, 'crash-main.ts');
  // Mounts in a separate namespace.
  const script = `set -e
    mount -t tmpfs tmpfs "$0"; mkdir "$0/below"; mount -t tmpfs tmpfs "$0/below"
    mkdir -p "$1/hidden/below"; mount -t tmpfs tmpfs "$1/hidden/below"; mount -t tmpfs tmpfs "$1/hidden"
    exec "$2" "$3" uid+namespaces "$1/boxes" 28000`;
  const args = ['--mount', '/bin/sh', '-c', script, place, directory, process.execPath, main];
  const agent = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [line] = await Promise.race([once(agent.stdout, 'data'), once(agent, 'exit')]);
    expect(String(line)).toContain('supervisorPid');
  } finally {
    agent.kill('SIGKILL');
    await vi.waitFor(() => expect(processesOfUid(28_000)).toEqual([]), { timeout: 90_000 });
    rmSync(place, { recursive: true, force: true });
  }
});

describe.skipIf(!isRoot).each(['uid+namespaces', 'uid'] as const)(
  'an agent that is killed under %s',
  (mechanism) => {
    async function startAgent(): Promise<{ kill: (isSupervisorToo: boolean) => Promise<void> }> {
      const main = join(import.meta.dirname, 'crash-main.ts');
      const agent = spawn(process.execPath, [main, mechanism, directory, '26000'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [line] = await once(agent.stdout, 'data');
      const { supervisorPid } = JSON.parse(String(line));
      return {
        kill: async (isSupervisorToo) => {
          if (isSupervisorToo) process.kill(supervisorPid, 'SIGKILL');
          agent.kill('SIGKILL');
          await once(agent, 'exit');
        },
      };
    }
    const strays = () => [...processesOfUid(26_000), ...processesOfUid(26_001)];
    const folders = () => readdirSync(directory).filter((name) => name.startsWith('slot-'));

    it('leaves nothing behind: its supervisor cleans up', async () => {
      const agent = await startAgent();
      expect(strays().length).toBeGreaterThan(0);
      await agent.kill(false);
      await vi.waitFor(() => expect([...strays(), ...folders()]).toEqual([]), { timeout: 90_000 });
    });

    it('together with its supervisor leaves what the next start removes', async () => {
      const agent = await startAgent();
      await agent.kill(true);
      expect(existsSync(join(directory, 'slot-0'))).toBe(true);
      await open({ firstUid: 27_000, mechanism });
      expect(folders()).toEqual(['slot-0']);
      expect(strays()).toEqual([]);
    });
  },
);

it.skipIf(!isRoot)('a pool removes the remains of dead neighbours, and leaves live ones alone', async () => {
  const main = join(import.meta.dirname, 'crash-main.ts');
  const groups = () =>
    ['memory', 'pids', 'cpuacct'].flatMap((controller) => {
      const [own = '/'] =
        /:(\/.*)$/m
          .exec(
            readFileSync('/proc/self/cgroup', 'utf8')
              .split('\n')
              .find((line) => line.split(':')[1] === controller) ?? '',
          )
          ?.slice(1) ?? [];
      const folder = join('/sys/fs/cgroup', controller, own);
      return existsSync(folder) ? readdirSync(folder).map((name) => `${controller} ${name}`) : [];
    });
  const startNeighbour = async (name: string, uid: number) => {
    const args = [main, 'uid+namespaces', join(directory, name), String(uid)];
    const agent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(agent.stdout, 'data');
    return { agent, supervisorPid: Number(JSON.parse(String(line)).supervisorPid) };
  };
  chmodSync(directory, 0o755);
  const [dead, living] = await Promise.all([
    startNeighbour('dead', 29_000),
    startNeighbour('living', 29_100),
  ]);
  const groupsOf = (pid: number) => groups().filter((name) => name.includes(` picket-${pid}-`));
  const countOfLiving = groupsOf(living.supervisorPid).length;
  try {
    process.kill(dead.supervisorPid, 'SIGKILL');
    dead.agent.kill('SIGKILL');
    await once(dead.agent, 'exit');
    const neighbours = ['dead', 'living', 'never'].map((name) => join(directory, name));
    await open({ directory: join(directory, 'own'), neighbours, firstUid: 29_200 });
    expect(readdirSync(join(directory, 'dead')).filter((name) => name.startsWith('slot-'))).toEqual([]);
    expect([...processesOfUid(29_000), ...processesOfUid(29_001), ...groupsOf(dead.supervisorPid)]).toEqual(
      [],
    );
    expect(readdirSync(join(directory, 'living')).filter((name) => name.startsWith('slot-'))).toHaveLength(2);
    expect(processesOfUid(29_100).length).toBeGreaterThan(0);
    expect(groupsOf(living.supervisorPid)).toHaveLength(countOfLiving);
  } finally {
    living.agent.kill('SIGKILL');
    await vi.waitFor(() => expect(processesOfUid(29_100)).toEqual([]), { timeout: 90_000 });
  }
});

describe('chaos', () => {
  it.skipIf(!isRoot)(
    'runs with processes killed at random leave no process and no folder',
    { timeout: 120_000 },
    async () => {
      const slotCount = 4;
      const [leastRuns, leastKilled] = isNight ? [80, 20] : [16, 8];
      const from = await open({ slotCount });
      const uids = Array.from({ length: slotCount }, (_, slot) => firstUid + slot);
      let isOver = false;
      let killedCount = 0;
      const killer = (async () => {
        while (!isOver) {
          const victims = uids.flatMap(processesOfUid);
          const victim = victims[Math.floor(Math.random() * victims.length)];
          if (victim !== undefined && isKilled(victim)) killedCount += 1;
          await new Promise((resolve) => setTimeout(resolve, 15));
        }
      })();
      const script =
        'sleep 0.05 & (setsid sleep 1000 &) ; sleep 1000 & mkdir -p a/b; echo x > a/b/c; sleep 0.1; echo done';
      const ends: Awaited<ReturnType<typeof run>>[] = [];
      while (ends.length < leastRuns || killedCount <= leastKilled) {
        ends.push(...(await Promise.all(Array.from({ length: 16 }, () => run(from, script)))));
      }
      isOver = true;
      await killer;
      expect(ends.every(({ end }) => end.reason === 'exited' || end.reason === 'notStarted')).toBe(true);
      // In a checkout below /tmp, which scripts cannot see, they run on a copy of Node.
      expect(from.facts.problems.filter((problem) => !problem.includes('a copy of it'))).toEqual([]);
      expect(from.freeCount).toBe(slotCount);
      await from.close();
      expect(uids.flatMap(processesOfUid)).toEqual([]);
      expect(readdirSync(directory).filter((name) => name !== 'node')).toEqual(['lock']);
    },
  );
});
