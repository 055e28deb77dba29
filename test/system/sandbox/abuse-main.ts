/**
 * A process that stands for an agent: it has a secret in its environment, a key file and a spool, opens sandboxes with
 * one mechanism and runs the named abuses in a single slot, short attempts together with their neighbours. One line of
 * JSON per case.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SandboxMechanism } from '../../../src/sandbox/mechanism.ts';
import { openSandboxes } from '../../../src/sandbox/pool/pool.ts';
import { abuseCases, abuseLimits, prelude } from './abuse-cases.ts';
import { supervisorPidOf } from './processes.ts';

const [mechanism, base = '', canary = '', runtime = '', names = '[]'] = process.argv.slice(2);
process.chdir(join(base, 'private'));
const pool = await openSandboxes({
  directory: join(base, 'sandboxes'),
  slotCount: 2,
  firstUid: 24_000,
  mechanism: mechanism as SandboxMechanism,
  privatePaths: [join(base, 'private', 'key'), join(base, 'private', 'spool')],
  readablePaths: [runtime],
});
const neighbour = await pool.acquire(AbortSignal.timeout(5000));
await neighbour.write('secret', canary);

/** Prints what a run finds in a slot that should be clean. */
const look = `
const list = (path) => { try { return fs.readdirSync(path); } catch { return []; } };
const mine = (path) => list(path).filter((name) => { try { return fs.lstatSync(path + '/' + name).uid === process.getuid() && name.startsWith('picket-left'); } catch { return false; } });
const processes = list('/proc').filter((pid) => /^\\d+$/.test(pid) && pid !== String(process.pid)).filter((pid) => { try { return !/^State:\\s+[ZX]/m.test(fs.readFileSync('/proc/' + pid + '/status', 'utf8')) && fs.statSync('/proc/' + pid).uid === process.getuid() && !/^(sh|unshare)$/.test(fs.readFileSync('/proc/' + pid + '/comm', 'utf8').trim()); } catch { return false; } });
const ipc = ['shm', 'sem', 'msg'].flatMap((kind) => fs.readFileSync('/proc/sysvipc/' + kind, 'utf8').trim().split('\\n').slice(1).filter((row) => row.trim().split(/\\s+/).includes(String(process.getuid()))));
say(JSON.stringify({ folder: list('.').sort(), left: ['/tmp', '/var/tmp', '/dev/shm', '/run/lock', '/dev/mqueue'].flatMap(mine), processes, ipc }));
`;

async function run(code: string, more: Partial<(typeof abuseCases)[number]> = {}) {
  const sandbox = await pool.acquire(AbortSignal.timeout(20_000));
  const given = {
    mechanism,
    agentPid: process.pid,
    supervisorPid: supervisorPidOf(process.pid),
    keyFile: join(base, 'private', 'key'),
    spool: join(base, 'private', 'spool'),
    otherSlot: neighbour.directory,
    runtime,
    canary,
  };
  await sandbox.write('main.cjs', prelude + code);
  let output = '';
  let outputBytes = 0;
  const started = sandbox.start({
    path: pool.facts.nodePath,
    args: ['main.cjs', JSON.stringify({ ...given, canary: canary.split('').reverse().join('') })],
    environment: more.environment ?? {},
    limits: { ...abuseLimits, ...more.limits },
    onOutput: (_stream, chunk) => {
      outputBytes += chunk.length;
      if (output.length < 100_000) output += chunk.toString('utf8');
    },
    onEvent: (line) => {
      outputBytes += line.length;
    },
  });
  const end = await started.ended;
  const opened: string[] = [];
  for (const path of more.refusedFiles ?? []) {
    await sandbox.open(path).then(
      (file) => {
        opened.push(path);
        return file.close();
      },
      () => undefined,
    );
  }
  if (more.refusedWrite !== undefined) {
    await sandbox.write(more.refusedWrite, 'x').then(
      () => opened.push('written'),
      () => undefined,
    );
  }
  await sandbox.release();
  return { output, outputBytes, end, opened };
}

const groups: (typeof abuseCases)[number][][] = [];
const wanted: readonly string[] = JSON.parse(names);
for (const abuse of abuseCases.filter(({ name }) => wanted.includes(name))) {
  const last = groups.at(-1);
  if (abuse.isAttempt && last?.[0]?.isAttempt) last.push(abuse);
  else groups.push([abuse]);
}
const marker = '\n=== next attempt\n';
for (const group of groups) {
  // The secret is reversed in the arguments, so that a program that prints its arguments reveals nothing.
  const attempts = group
    .map(({ code }) => `{ ${code}\n }`)
    .join(` fs.writeSync(1, ${JSON.stringify(marker)});\n`);
  const code = `given.canary = given.canary.split('').reverse().join('');\n${attempts}`;
  const { output, outputBytes, end, opened } = await run(code, {
    ...group[0],
    // Each has as much time as if it were alone.
    limits: {
      wallMs: group.length * abuseLimits.wallMs,
      cpuMs: group.length * abuseLimits.cpuMs,
      ...group[0]?.limits,
    },
  });
  const next = await run(look);
  const planted = (await readdir(join(base, 'private'))).filter((name) => name !== 'key' && name !== 'spool');
  const outputs = group.length === 1 ? [output] : output.split(marker);
  for (const [index, { name }] of group.entries()) {
    console.log(
      JSON.stringify({
        name,
        output: outputs[index] ?? '',
        outputBytes,
        end,
        opened,
        next: next.output,
        nextEnd: next.end,
        planted,
      }),
    );
  }
}
console.log(JSON.stringify({ name: 'all', facts: pool.facts }));
await pool.close();
