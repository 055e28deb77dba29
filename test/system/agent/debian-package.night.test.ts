import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentKey } from '../../helpers/agent/agent-process.ts';
import { FakeService } from '../../helpers/agent/fake-service/fake-service.ts';

const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'picket-debian-'));
const copy = join(folder, 'copy');
const names = { package: '', tarball: '' };

/** Runs commands as root of a machine whose files are this machine's, with all changes apart from it. */
async function onCopy(commands: string): Promise<{ readonly code: number; readonly output: string }> {
  const script = `
    mount --make-rprivate / && mount -t overlay overlay -o lowerdir=/,upperdir=${copy}/upper,workdir=${copy}/work ${copy}/root
    for name in proc dev sys; do mount --rbind /$name ${copy}/root/$name; done
    chroot ${copy}/root sh -c "$COMMANDS"`;
  // Nothing of the test's own environment, such as the folder of compiled modules.
  const env = { COMMANDS: commands, PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };
  try {
    const { stdout, stderr } = await run('unshare', ['--mount', 'sh', '-ec', script], { env });
    return { code: 0, output: stdout + stderr };
  } catch (thrown) {
    const { code, stdout, stderr } = thrown as { code: number; stdout: string; stderr: string };
    return { code, output: stdout + stderr };
  }
}

const build = async (out: string) =>
  await run(process.execPath, ['scripts/build-packages.ts', '--compress', 'gzip', '--out', out], {
    cwd: root,
  });
const hashOf = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

beforeAll(async () => {
  await build(join(folder, 'packages'));
  for (const name of readdirSync(join(folder, 'packages'))) {
    if (name.endsWith('.deb')) names.package = name;
    if (name.endsWith('.tar.gz')) names.tarball = name;
  }
  mkdirSync(copy);
  // An overlay's changes cannot be on another overlay, which the root of a container is.
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', copy]);
  for (const name of ['upper', 'work', 'root']) mkdirSync(join(copy, name));
  // Readable by dpkg on the copy, which has the same folders.
  writeFileSync(join(folder, 'later.sh'), laterVersion);
}, 600_000);

afterAll(() => {
  execFileSync('umount', [copy]);
  rmSync(folder, { recursive: true, force: true });
});

/** Makes a package of version 99 of another one. */
const laterVersion = `set -e
dpkg-deb -R "$1" "$2/later"
sed -i 's/^Version: .*/Version: 99/' "$2/later/DEBIAN/control"
echo '# new' >> "$2/later/etc/picket/agent.env"
dpkg-deb --root-owner-group -Zgzip -z1 -b "$2/later" "$2/later.deb"
`;

describe('the Debian package', () => {
  it('installs with dpkg alone, works, is upgraded with its settings kept, and leaves nothing', async () => {
    const service = new FakeService();
    await service.listen();
    const target = createServer((_, response) => response.end('up')).listen(0, '127.0.0.1');
    await once(target, 'listening');
    const { port } = target.address() as AddressInfo;
    const file = join(folder, 'check.yaml');
    writeFileSync(file, `checkType: URL\nname: up\nrequest:\n  url: http://127.0.0.1:${port}/\n`);
    const packagePath = join(folder, 'packages', names.package);

    const installed =
      await onCopy(`dpkg -i ${packagePath} && id -un picket && stat -c '%a %U' /etc/picket/agent.env
      picket run ${file}`);
    expect(installed.output).toMatch(/systemctl enable --now picket-agent/);
    expect(installed.output).toMatch(/^picket$/m);
    expect(installed.output).toMatch(/^600 root$/m);
    expect(installed.output).toMatch(/^PASSED/m);
    expect(installed.code).toBe(0);

    // As the agent's user with the agent's settings: the folder of results is writable, the service is found.
    const settings = `sed -i 's|^SERVICE_URL=.*|SERVICE_URL=${service.url}|; s|^API_KEY=.*|API_KEY=${agentKey}|' /etc/picket/agent.env`;
    const { output: examined } = await onCopy(`${settings} && picket doctor --json`);
    const { findings } = JSON.parse(examined) as {
      findings: readonly { readonly examination: string; readonly status: string; readonly detail: string }[];
    };
    const statusOf = (name: string) => findings.find(({ examination }) => examination === name)?.status;
    expect([statusOf('environment'), statusOf('disk'), statusOf('tcp')]).toEqual(['ok', 'ok', 'ok']);
    expect(
      findings.filter(({ examination }) => examination === 'checks').map(({ status }) => status),
    ).not.toContain('problem');

    const upgraded =
      await onCopy(`sh ${join(folder, 'later.sh')} ${packagePath} /tmp && dpkg -i --force-confold /tmp/later.deb
      grep -c '${agentKey}' /etc/picket/agent.env; dpkg-query -W -f '\${Version}' picket-agent`);
    expect(upgraded.output).toMatch(/^1\n99$/m);

    const purged = await onCopy('rm -r /tmp/later /tmp/later.deb; dpkg --purge picket-agent; id picket');
    expect(purged.output).toMatch(/no such user/);
    const left = execFileSync(
      'find',
      [
        join(copy, 'upper'),
        '-type',
        'f',
        '-not',
        '-path',
        '*/var/lib/dpkg/*',
        '-not',
        '-path',
        '*/var/log/*',
      ],
      { encoding: 'utf8' },
    );
    const accounts = /\/etc\/((passwd|group|shadow|gshadow|subuid|subgid)-?|\.pwd\.lock)$/;
    expect(left.split('\n').filter((path) => path !== '' && !accounts.test(path))).toEqual([]);
    target.close();
    await service.close();
  });

  it('is the same when it is built again, as is the tarball, and its checksum fits', async () => {
    await build(join(folder, 'again'));
    for (const name of [names.package, names.tarball]) {
      expect(hashOf(join(folder, 'again', name))).toBe(hashOf(join(folder, 'packages', name)));
    }
    const check = execFileSync('sh', ['-c', 'sha256sum --check *.sha256'], {
      cwd: join(folder, 'packages'),
      encoding: 'utf8',
    });
    expect(check.match(/: OK$/gm)).toHaveLength(2);
  }, 600_000);
});

describe('the tarball', () => {
  it('runs where it is unpacked', () => {
    execFileSync('tar', ['-xf', join(folder, 'packages', names.tarball), '-C', folder]);
    const program = join(folder, names.tarball.replace('.tar.gz', ''), 'picket');
    expect(statSync(program).mode & 0o777).toBe(0o755);
    expect(execFileSync(program, ['--version'], { encoding: 'utf8' })).toMatch(/^\d+\.\d+\.\d+/);
  });
});
