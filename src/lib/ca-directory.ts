import { X509Certificate } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { errorCodeOf, toError } from './errors.ts';

/** A certificate of an authority to trust. */
export interface CaCertificate {
  /** One PEM block with a trailing line end. */
  readonly pem: string;
  /** The subject on one line, such as `O=Example, CN=Example Root`. */
  readonly subject: string;
  /** SHA-256 in hexadecimal digits with colons. */
  readonly fingerprint: string;
}

/** A problem with a file, in words for the operator. `file`: the file as a whole or its contents. */
export interface CaProblem {
  readonly kind: 'file' | 'private-key' | 'no-authority' | 'expired';
  readonly text: string;
}

/** A file of the folder with its certificates and problems. */
export interface CaFile {
  readonly name: string;
  readonly certificates: readonly CaCertificate[];
  readonly problems: readonly CaProblem[];
}

export interface CaDirectory {
  readonly path: string;
  /** Sorted by name. */
  readonly files: readonly CaFile[];
  /** The certificates of all files, each once. */
  readonly certificates: readonly CaCertificate[];
  /** Reason why the folder itself could not be read. */
  readonly problem: string | undefined;
}

const maxFileBytes = 1024 * 1024;
const maxCertificates = 500;
const block = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]*-----END \1-----/g;
const begin = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/g;

/**
 * Reads a folder of PEM files. Never fails: it reports unusable content and uses the rest. It skips names that begin
 * with a dot (Kubernetes keeps the files of a volume behind such names).
 *
 * Certificates outside their validity are included and reported: each use decides whether they are valid, by a clock
 * that may be right by then. Certificates that belong to no authority are left out.
 *
 * @param now decides which certificates have expired.
 */
export async function readCaDirectory(path: string, now = new Date()): Promise<CaDirectory> {
  let names: string[];
  try {
    names = (await readdir(path)).filter((name) => !name.startsWith('.')).sort();
  } catch (thrown) {
    return { path, files: [], certificates: [], problem: toError(thrown).message };
  }
  const files: CaFile[] = [];
  const known = new Map<string, CaCertificate>();
  for (const name of names) {
    const file = await readCaFile(path, name, now);
    for (const certificate of file.certificates) {
      if (known.size < maxCertificates) known.set(certificate.fingerprint, certificate);
    }
    files.push(file);
  }
  const problem = known.size < maxCertificates ? undefined : `more than ${maxCertificates} certificates`;
  return { path, files, certificates: [...known.values()], problem };
}

async function readCaFile(directory: string, name: string, now: Date): Promise<CaFile> {
  const useless = (text: string): CaFile => ({ name, certificates: [], problems: [{ kind: 'file', text }] });
  let bytes: Buffer;
  try {
    const found = await stat(join(directory, name));
    if (found.isDirectory()) return useless('is a folder; only files directly in CA_CERTS_DIR are read');
    if (!found.isFile()) return useless('is no file');
    if (found.size > maxFileBytes) return useless(`is larger than ${maxFileBytes} bytes`);
    bytes = await readFile(join(directory, name));
  } catch (thrown) {
    return useless(`cannot be read (${errorCodeOf(thrown) ?? toError(thrown).message})`);
  }
  const text = bytes.toString('latin1');
  const blocks = [...text.matchAll(block)].map(([whole]) => whole);
  const problems: CaProblem[] = [];
  if (blocks.length < [...text.matchAll(begin)].length)
    problems.push({ kind: 'file', text: 'a certificate in it is cut off' });
  if (blocks.length === 0 && problems.length === 0) return useless(whatItIs(bytes));
  if (text.includes('PRIVATE KEY-----'))
    problems.push({ kind: 'private-key', text: 'contains a private key, which does not belong here' });
  const certificates: CaCertificate[] = [];
  for (const [index, pem] of blocks.entries()) {
    const which = blocks.length === 1 ? '' : `certificate ${index + 1}: `;
    const read = readCertificate(pem, now);
    problems.push(...read.problems.map((problem) => ({ ...problem, text: which + problem.text })));
    if (read.certificate) certificates.push(read.certificate);
  }
  return { name, certificates, problems };
}

function readCertificate(
  pem: string,
  now: Date,
): { readonly certificate?: CaCertificate; readonly problems: readonly CaProblem[] } {
  let parsed: X509Certificate;
  try {
    parsed = new X509Certificate(pem);
  } catch {
    return { problems: [{ kind: 'file', text: 'cannot be parsed as a certificate' }] };
  }
  const subject = parsed.subject?.split('\n').join(', ') || '(no subject)';
  if (!parsed.ca) {
    const text = `${subject} is not a CA certificate (no CA:TRUE); not used`;
    return { problems: [{ kind: 'no-authority', text }] };
  }
  const problems: CaProblem[] = [];
  if (now > parsed.validToDate)
    problems.push({ kind: 'expired', text: `${subject} expired on ${dayOf(parsed.validToDate)}` });
  if (now < parsed.validFromDate)
    problems.push({ kind: 'file', text: `${subject} is valid only from ${dayOf(parsed.validFromDate)}` });
  const certificate = { pem: parsed.toString(), subject, fingerprint: parsed.fingerprint256 };
  return { certificate, problems };
}

function whatItIs(bytes: Buffer): string {
  if (bytes.length === 0) return 'is empty';
  // A DER sequence whose length takes two bytes.
  if (bytes[0] === 0x30 && bytes[1] === 0x82) {
    return 'is DER, not PEM; convert it: openssl x509 -inform der -in FILE -out FILE.pem';
  }
  return 'contains no PEM certificate (-----BEGIN CERTIFICATE-----)';
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}

/**
 * Makes this thread trust more authorities, in addition to those it trusts already (Node's own and
 * NODE_EXTRA_CA_CERTS), for every TLS connection that names no authorities of its own. Threads do not inherit this.
 *
 * @param certificates PEM texts.
 */
export function trustAlso(certificates: readonly string[]): void {
  if (certificates.length === 0) return;
  setDefaultCACertificates([...getCACertificates('default'), ...certificates]);
}
