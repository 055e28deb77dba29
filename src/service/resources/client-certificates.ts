import { randomUUID } from 'node:crypto';
import { fieldError } from '@picket/platform/http/validation.ts';
import { accountTable } from '@picket/platform/store/engine/account-table.ts';
import { clientCertificateApi } from '@picket/protocol/checks/client-certificate.ts';
import { certificateProblems, describedCertificate } from './certificate-material.ts';
import { defineResource } from './resource.ts';

export interface ClientCertificateRow {
  id: string;
  account_id: string;
  host: string;
  cert: string;
  private_key: string;
  ca: string | null;
  passphrase: string | null;
  created: number;
}

/**
 * Client certificates. Private keys and their passphrases are accepted and never returned. Their table is created by
 * `0005-account-resources`.
 */
export const certificates = defineResource(
  clientCertificateApi,
  accountTable<ClientCertificateRow>()({ name: 'client_certificates', key: 'id' }),
)({
  newKey: randomUUID,
  columns: (body) => {
    const problems = certificateProblems(body);
    if (problems.length > 0) throw fieldError('payload', problems);
    const { host, cert, key: private_key, ca, passphrase } = body;
    return { host, cert, private_key, ca, passphrase };
  },
  view: ({ id, host, cert, ca, passphrase }) => ({
    ...{ id, host, cert, ca, ...describedCertificate(cert) },
    hasPassphrase: passphrase !== null,
  }),
});
