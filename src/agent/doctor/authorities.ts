import { getCACertificates } from 'node:tls';
import { type CaProblem, readCaDirectory, trustAlso } from '@picket/lib/ca-directory.ts';
import { systemClock } from '@picket/lib/clock.ts';
import type { Examination } from './examination.ts';
import { ok, problem, skipped, type Verdict, warning } from './examination.ts';

/** CA_CERTS_DIR, file by file. The examination that runs checks proves that they trust these files; see checks.ts. */
export const authorities: Examination = {
  name: 'authorities',
  async examine(patient) {
    const { caCertsDir } = patient.settings;
    if (caCertsDir === undefined)
      return skipped('CA_CERTS_DIR is not set: only the default authorities are trusted');
    const { files, certificates, problem: trouble } = await readCaDirectory(caCertsDir);
    const found: Verdict[] = [];
    if (trouble !== undefined) {
      const fix = 'Mount a folder with PEM files that the user of the agent can read, or unset CA_CERTS_DIR.';
      found.push(problem(`${caCertsDir}: ${trouble}`, fix));
    }
    for (const { name, problems } of files) {
      for (const { kind, text } of problems) found.push(problem(text, fixes[kind], name));
    }
    patient.caCertificates = certificates.map(({ pem }) => pem);
    trustAlso(patient.caCertificates);
    const trusted = new Set(getCACertificates('default').map(withoutSpace));
    for (const { pem, subject } of certificates) {
      if (trusted.has(withoutSpace(pem))) found.push(ok('trusted by the agent itself', subject));
      else found.push(problem('is not trusted by the agent itself', 'Report it: it should be.', subject));
    }
    if (found.length > 0) return found;
    return problem(`${caCertsDir} is empty`, 'Add the CA certificates as PEM files.');
  },
};

const fixes: Readonly<Record<CaProblem['kind'], string>> = {
  expired: 'Replace it with the new certificate of the authority.',
  'private-key': 'Remove the key from the file, and treat it as compromised.',
  'no-authority': 'Add the certificate of the issuing authority instead.',
  file: 'Replace the file with the certificate of the authority in PEM format, or remove it.',
};

function withoutSpace(text: string): string {
  return text.replaceAll(/\s/g, '');
}

const dayMs = 86_400_000;
const soonDays = 14;
const newKey =
  'Make a key with "picket keys new", add its public key to TRUSTED_KEYS, and sign the checks with it.';

/** The keys whose signed checks the agent runs, and how long it accepts them. */
export const trustedKeys: Examination = {
  name: 'trusted-keys',
  async examine({ settings }) {
    const { trustedKeys: keys, revokedKeys: revoked } = settings;
    if (keys.length === 0)
      return skipped('TRUSTED_KEYS is not set: the agent runs signed and unsigned checks');
    const now = systemClock.wallMs();
    const isAllRevoked = keys.every(({ id }) => revoked.includes(id));
    const others = revoked.filter((id) => keys.every((key) => key.id !== id));
    const further = others.map((id) => ok('revoked; it is not in TRUSTED_KEYS either', id));
    const judged = keys.map(({ id, notAfter }): Verdict => {
      if (revoked.includes(id)) {
        const detail = 'revoked: the agent refuses all checks that it signed';
        return isAllRevoked ? problem(`${detail}, and there is no other key`, newKey, id) : ok(detail, id);
      }
      if (notAfter === null) return ok('the agent runs only signed checks; the key has no last day', id);
      const lastDay = new Date(notAfter - dayMs).toISOString().slice(0, 10);
      if (now >= notAfter) {
        const detail = `the last day of the key was ${lastDay}: the agent refuses all checks that it signed`;
        return problem(detail, newKey, id);
      }
      const detail = `the agent runs only signed checks; the last day of the key is ${lastDay}`;
      return notAfter - now < soonDays * dayMs ? warning(detail, newKey, id) : ok(detail, id);
    });
    return [...judged, ...further];
  },
};
