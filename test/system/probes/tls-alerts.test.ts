import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { closedPort } from '../../helpers/targets/tcp-target.ts';

const why = whyNoOpenssl();
const folder = mkdtempSync(join(tmpdir(), 'picket-alerts-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Node's own servers close the connection without an alert; other servers send one with the reason. */
function whyNoOpenssl(): string | null {
  if (!spawnSync('openssl', ['version']).error) return null;
  const reason = 'the program openssl is missing (Debian package openssl)';
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}

describe.skipIf(why !== null)(`a server that requires a client certificate${why ? ` (${why})` : ''}`, () => {
  it.each([
    ['TLS 1.3 and HTTP/1.1', ['-tls1_3', '-alpn', 'http/1.1']],
    ['TLS 1.3 and no protocol', ['-tls1_3']],
    ['TLS 1.3 and HTTP/2', ['-tls1_3', '-alpn', 'h2']],
    ['TLS 1.2', ['-tls1_2']],
  ])('says in its alert what it requires, over %s', async (_name, options) => {
    const authority = await createAuthority();
    const { key, cert } = await authority.issue();
    const stranger = await (await createAuthority('Somebody else')).issue({ hosts: ['client'] });
    for (const [name, text] of Object.entries({ key, cert, ca: authority.cert })) {
      writeFileSync(join(folder, `${name}.pem`), text);
    }
    const port = await closedPort();
    const files = ['-key', 'key.pem', '-cert', 'cert.pem', '-CAfile', 'ca.pem'];
    const words = [
      's_server',
      '-accept',
      String(port),
      ...files,
      '-Verify',
      '1',
      '-verify_return_error',
      '-www',
    ];
    const server = spawn('openssl', [...words, ...options], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      for await (const chunk of server.stdout) if (String(chunk).includes('ACCEPT')) break;
      const url = `https://127.0.0.1:${port}/`;
      const { error } = await probe(url, { isCertificateChecked: false });
      expect(error).toMatchObject({ kind: 'handshake-failed' });
      expect(error?.message).toMatch(/alert (certificate required|handshake failure)/);
      const clientIdentityFor = () => stranger;
      const { error: refused } = await probe(url, { isCertificateChecked: false, clientIdentityFor });
      expect(refused).toMatchObject({ kind: 'handshake-failed' });
      expect(refused?.message).toContain('alert unknown ca');
    } finally {
      server.kill('SIGKILL');
      await once(server, 'exit');
    }
  });
});
