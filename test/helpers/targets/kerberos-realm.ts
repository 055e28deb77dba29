import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';

/** A realm with a KDC of its own, by the programs of MIT that Debian has. */
export interface KerberosRealm extends AsyncDisposable {
  readonly name: string;
  /** Its krb5.conf. */
  readonly configFile: string;
  /** Creates a principal with a random key. @returns its keytab. */
  addPrincipal(name: string): string;
  /** Gets a ticket for the principal of a keytab. @returns the file of the ticket cache. */
  ticketFor(principal: string, keytab: string, lifetime?: string): string;
}

const programs = ['krb5kdc', 'kdb5_util', 'kadmin.local', 'kinit'] as const;

/** Reason why tests that need a KDC cannot run here, or null. In CI, missing programs are an error. */
export function whyNoKerberos(): string | null {
  const missing = programs.filter((name) => spawnSync('which', [name], { env: paths }).status !== 0);
  if (missing.length === 0) return null;
  const reason = `not on this machine: ${missing.join(', ')} (Debian packages krb5-kdc, krb5-admin-server, krb5-user)`;
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}

const paths = { PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` };

/** Starts a KDC on a free loopback port. */
export async function startKerberosRealm(name = 'PICKET.TEST'): Promise<KerberosRealm> {
  const folder = mkdtempSync(join(tmpdir(), 'picket-kdc-'));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const configFile = join(folder, 'krb5.conf');
  writeFileSync(
    configFile,
    `[libdefaults]
  default_realm = ${name}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  ${name} = {
    kdc = 127.0.0.1:${port}
    database_module = store
    key_stash_file = ${folder}/stash
    acl_file = ${folder}/acl
    kdc_listen = 127.0.0.1:${port}
    kdc_tcp_listen = 127.0.0.1:${port}
    max_life = 10h
  }
[dbmodules]
  store = {
    db_library = db2
    database_name = ${folder}/principal
  }
[domain_realm]
  localhost = ${name}
[logging]
  kdc = FILE:${folder}/kdc.log
`,
  );
  writeFileSync(join(folder, 'acl'), '');
  const env = { ...paths, KRB5_CONFIG: configFile, KRB5_KDC_PROFILE: configFile };
  const run = (program: string, words: readonly string[]) => {
    const { status, stderr, stdout } = spawnSync(program, words, { env, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${program} ${words.join(' ')}: ${stderr}${stdout}`);
  };
  run('kdb5_util', ['create', '-s', '-r', name, '-P', 'master of the test']);
  const child = spawn('krb5kdc', ['-n'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = once(child, 'exit');
  const log = () => readFileSync(join(folder, 'kdc.log'), 'utf8');
  for (;;) {
    if (child.exitCode !== null) throw new Error(`krb5kdc ended: ${log()}`);
    if (spawnSync('grep', ['-q', 'commencing operation', join(folder, 'kdc.log')]).status === 0) break;
  }
  let files = 0;
  return {
    name,
    configFile,
    addPrincipal(principal) {
      files += 1;
      const keytab = join(folder, `keytab-${files}`);
      run('kadmin.local', ['-r', name, '-q', `addprinc -randkey ${principal}`]);
      run('kadmin.local', ['-r', name, '-q', `ktadd -k ${keytab} ${principal}`]);
      chmodSync(keytab, 0o644);
      return keytab;
    },
    ticketFor(principal, keytab, lifetime = '1h') {
      files += 1;
      const cache = join(folder, `tickets-${files}`);
      run('kinit', ['-c', cache, '-l', lifetime, '-k', '-t', keytab, principal]);
      return cache;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
