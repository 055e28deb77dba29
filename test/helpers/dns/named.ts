import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../free-port.ts';
import type { KeyAndCertificate } from '../targets/certificates.ts';

/** A BIND name server of a test, authoritative for its zones, on free ports of 127.0.0.1 and ::1. */
export interface NamedServer extends AsyncDisposable {
  /** Port for UDP and TCP. */
  readonly port: number;
  /** Port for DNS over TLS. */
  readonly tlsPort: number;
  /** Port for DNS over HTTPS, path /dns-query. */
  readonly httpsPort: number;
  stop(): Promise<void>;
}

function isInstalled(program: string, versionFlag: string): boolean {
  return spawnSync(program, [versionFlag], { stdio: 'ignore' }).error === undefined;
}

/** Reason why tests that need BIND cannot run here, or null. In CI, missing BIND is an error. */
export function whyNoNamed(): string | null {
  if (isInstalled('named', '-V') && isInstalled('dig', '-v')) return null;
  const reason = 'no BIND on this machine (the programs named and dig; Debian: bind9 bind9-dnsutils)';
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}

/**
 * Starts BIND with some zones.
 *
 * @param zones zone files by the name of the zone. One that BIND cannot read makes its zone answer SERVFAIL.
 */
export async function startNamed(options: {
  readonly zones: Readonly<Record<string, string>>;
  readonly identity: KeyAndCertificate;
}): Promise<NamedServer> {
  const folder = mkdtempSync(join(tmpdir(), 'picket-named-'));
  const [port, tlsPort, httpsPort] = [await freePort(), await freePort(), await freePort()];
  writeFileSync(join(folder, 'key.pem'), options.identity.key);
  writeFileSync(join(folder, 'cert.pem'), options.identity.cert);
  const zones = Object.entries(options.zones).map(([name, text], index) => {
    writeFileSync(join(folder, `zone-${index}`), text);
    return `zone "${name}" { type primary; file "zone-${index}"; check-names ignore; };`;
  });
  const conf = `
    tls test { key-file "${folder}/key.pem"; cert-file "${folder}/cert.pem"; };
    http test { endpoints { "/dns-query"; }; };
    controls { };
    options {
      directory "${folder}"; pid-file none; session-keyfile none; managed-keys-directory "${folder}";
      recursion no; dnssec-validation no; empty-zones-enable no; notify no; minimal-responses yes;
      listen-on port ${port} { 127.0.0.1; };
      listen-on-v6 port ${port} { ::1; };
      listen-on port ${tlsPort} tls test { 127.0.0.1; };
      listen-on port ${httpsPort} tls test http test { 127.0.0.1; };
    };
    ${zones.join('\n')}`;
  writeFileSync(join(folder, 'named.conf'), conf);
  const child = spawn('named', ['-g', '-n', '1', '-c', join(folder, 'named.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const lines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`named ended with ${code}:\n${lines.join('\n')}`)));
    createInterface({ input: child.stderr }).on('line', (line) => {
      lines.push(line);
      if (/\brunning$/.test(line)) resolve();
    });
  });
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  return { port, tlsPort, httpsPort, stop, [Symbol.asyncDispose]: stop };
}

/** Parsed output of dig. */
export interface DigAnswer {
  readonly status: string;
  /** In lower case, sorted, without qr. */
  readonly flags: readonly string[];
  /** Name, type and data of the records in the answer section. */
  readonly answers: readonly { readonly name: string; readonly type: string; readonly text: string }[];
}

/** Queries a name server on 127.0.0.1 with dig. */
export async function dig(port: number, name: string, type: string, ...flags: string[]): Promise<DigAnswer> {
  const shown = ['+noall', '+comments', '+answer', '+nosplit'];
  const child = spawn('dig', ['@127.0.0.1', '-p', String(port), ...shown, ...flags, '-t', type, '-q', name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  await new Promise((resolve) => child.once('close', resolve));
  const words = /flags: ([^;]*);/.exec(output)?.[1]?.trim().split(' ') ?? [];
  return {
    status: /status: (\w+)/.exec(output)?.[1] ?? '',
    flags: words.filter((flag) => flag !== 'qr').sort(),
    answers: output
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith(';'))
      .map((line) => {
        const [owner = '', , , recordType = '', ...data] = line.split(/[\t ]+/);
        return { name: owner, type: recordType, text: data.join(' ') };
      }),
  };
}
