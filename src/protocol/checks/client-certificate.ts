import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { ManagedFields } from '../http/managed-fields.ts';
import { defineResourceApi } from '../http/resource.ts';

const pem = z.string().min(1).max(65_536);

/** A certificate that checks present to hosts that request one (spec.md "Client certificate"). */
export const ClientCertificate = lazySchema(() =>
  z
    .object({
      id: z.uuid(),
      host: z.string(),
      cert: z.string(),
      ca: z.string().nullable(),
      subject: z.string().describe('Subject of the certificate'),
      expiresAt: z.iso.datetime().nullable().describe('Expiry; null if it cannot be read'),
      hasPassphrase: z.boolean().describe('Whether its key is encrypted'),
      created_at: z.iso.datetime(),
      ...ManagedFields,
    })
    .meta({ id: 'ClientCertificate' }),
);

export const ClientCertificateInput = lazySchema(() =>
  z
    .object({
      host: z
        .string()
        .min(1)
        .max(253)
        .regex(/^[A-Za-z0-9*]([A-Za-z0-9*_.-]*[A-Za-z0-9*])?$/, 'must be a host name without scheme and port')
        .describe(
          'Host name without scheme; `*` stands for any characters. An exact name takes precedence over one with `*`',
        ),
      cert: pem.describe('PEM, with its line breaks; intermediate certificates may follow the first one'),
      key: pem.describe('PEM of the private key; never shown'),
      ca: pem.nullable().default(null).describe('PEM of the CA certificate to trust for these hosts'),
      passphrase: z
        .string()
        .max(1024)
        .nullable()
        .default(null)
        .describe('Passphrase of an encrypted key; never shown'),
    })
    .meta({ id: 'ClientCertificateInput' }),
);

export const clientCertificateApi = defineResourceApi({
  noun: 'client certificate',
  order: 'newest first',
  key: z.uuid(),
  shown: ClientCertificate,
  input: ClientCertificateInput,
});
