import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyAndCertificate } from '../targets/certificates.ts';

/** A server's identity with OCSP responses of its authority, created by the program openssl. */
export interface StapledIdentity {
  readonly authority: string;
  readonly identity: KeyAndCertificate;
  /** Its OCSP response, signed by the authority. */
  staple(status: 'good' | 'revoked'): Buffer;
  close(): void;
}

export function createStapledIdentity(): StapledIdentity {
  const folder = mkdtempSync(join(tmpdir(), 'picket-ocsp-'));
  const openssl = (...words: string[]) => execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' });
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...ec,
    '-days',
    '30',
    '-subj',
    '/CN=Stapling',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
  );
  openssl('req', ...ec, '-subj', '/CN=localhost', '-keyout', 'leaf.key', '-out', 'leaf.csr');
  writeFileSync(join(folder, 'names'), 'subjectAltName=DNS:localhost\n');
  const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-set_serial', '0x1234', '-days', '20'];
  openssl('x509', '-req', '-in', 'leaf.csr', ...signing, '-extfile', 'names', '-out', 'leaf.pem');
  return {
    authority: read('ca.pem'),
    identity: { key: read('leaf.key'), cert: read('leaf.pem') },
    staple(status) {
      const revoked = status === 'revoked' ? '250101000000Z' : '';
      const state = status === 'revoked' ? 'R' : 'V';
      writeFileSync(
        join(folder, 'index'),
        `${state}\t490101000000Z\t${revoked}\t1234\tunknown\t/CN=localhost\n`,
      );
      const signer = ['-CA', 'ca.pem', '-rsigner', 'ca.pem', '-rkey', 'ca.key'];
      const about = ['-issuer', 'ca.pem', '-cert', 'leaf.pem', '-ndays', '5'];
      openssl('ocsp', '-index', 'index', ...signer, ...about, '-respout', 'response');
      return readFileSync(join(folder, 'response'));
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}
