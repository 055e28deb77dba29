import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import type { SandboxMechanism } from '../../../src/sandbox/mechanism.ts';
import { programDirectory } from '../../../src/sandbox/sandbox.ts';
import { PlainUser } from '../../helpers/scripts/plain-user.ts';

const isRoot = process.getuid?.() === 0;

/** Runs programs that look up their user. */
async function askedIn(mechanism: SandboxMechanism) {
  const user = isRoot && mechanism === 'user-namespaces' ? new PlainUser() : undefined;
  const directory = mkdtempSync(join(user?.home ?? '/var/tmp', 'picket-user-'));
  chmodSync(directory, 0o777);
  try {
    const script = `
      { ${readFileSync(join(programDirectory, 'own-user.cjs'), 'utf8')} }
      const os = require('node:os'), cp = require('node:child_process');
      const run = (...command) => { const { status, stdout } = cp.spawnSync('/bin/sh', ['-c', ...command], { encoding: 'utf8' }); return [status, stdout.trim()]; };
      import('node:os').then(({ userInfo }) => console.log(JSON.stringify({
        info: userInfo(), buffer: String(os.userInfo({ encoding: 'buffer' }).username), home: os.homedir(), uid: process.getuid(), gid: process.getgid(),
        whoami: run('whoami'), group: run('id -gn'), passwd: run('echo x >> /etc/passwd 2>/dev/null')[0], root: run('id -un 0') })));`;
    const order = {
      mechanism,
      directory: join(directory, 'sandboxes'),
      egress: { allow: '', deny: '', ownPorts: [] },
      script,
    };
    const file = join(directory, 'order.json');
    writeFileSync(file, JSON.stringify(order));
    const main = join(import.meta.dirname, 'egress-main.ts');
    const [program = '', ...args] = [...(user?.wrapper ?? []), process.execPath, main, file];
    const { stdout } = await promisify(execFile)(program, args);
    const { output } = JSON.parse(stdout) as { output: string };
    return JSON.parse(output) as Record<string, unknown> & { info: object };
  } finally {
    rmSync(directory, { recursive: true, force: true });
    user?.[Symbol.dispose]();
  }
}

it.each<SandboxMechanism>(['uid+namespaces', 'user-namespaces'])(
  'programs resolve the name of their user under %s',
  { timeout: 60_000 },
  async (mechanism) => {
    if (mechanism === 'uid+namespaces' && !isRoot) return;
    const { info, home, uid, gid, ...said } = await askedIn(mechanism);
    expect(info).toMatchObject({ uid, gid });
    if (mechanism === 'uid+namespaces')
      expect(info).toEqual({ uid, gid, username: 'picket-script', homedir: home, shell: '/bin/sh' });
    expect(said).toMatchObject({
      whoami: [0, expect.stringMatching(/./)],
      group: [0, expect.stringMatching(/./)],
      root: [0, 'root'],
    });
    expect(said.passwd).not.toBe(0);
  },
);

it.skipIf(!isRoot)('Node resolves it under uid, too', { timeout: 60_000 }, async () => {
  const { info, home, uid, gid, buffer } = await askedIn('uid');
  expect(info).toEqual({ uid, gid, username: 'picket-script', homedir: home, shell: '/bin/sh' });
  expect(buffer).toBe('picket-script');
});
