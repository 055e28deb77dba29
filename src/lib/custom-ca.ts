import { type CaDirectory, readCaDirectory, trustAlso } from './ca-directory.ts';
import type { Logger } from './log.ts';

/**
 * Reads CA_CERTS_DIR and makes this thread trust its certificates, in addition to the usual ones. Unusable files are
 * logged one by one and do not stop the process.
 *
 * @returns the certificates as PEM texts, for every other component that needs to trust them.
 */
export async function trustCustomCa(directory: string | undefined, log: Logger): Promise<readonly string[]> {
  if (directory === undefined) return [];
  const found = await readCaDirectory(directory);
  logFindings(found, log);
  const certificates = found.certificates.map(({ pem }) => pem);
  trustAlso(certificates);
  return certificates;
}

function logFindings({ path, files, certificates, problem }: CaDirectory, log: Logger): void {
  if (problem !== undefined) log.error({ path, reason: problem }, 'CA_CERTS_DIR cannot be used');
  for (const { name, problems } of files) {
    for (const { text } of problems)
      log.error({ path, file: name, reason: text }, 'unusable file in CA_CERTS_DIR');
  }
  const authorities = certificates.map(({ subject }) => subject);
  log.info({ path, authorities }, 'trusting custom CA certificates; changes apply at the next start');
}
