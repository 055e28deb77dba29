import { z } from 'zod';
import { Paging } from '../http/query.ts';
import { created, defineRoute, noContent, successful } from '../http/route.ts';

const pem = z.string().min(1).max(65_536);

/** A certificate that checks present to hosts that ask for one (spec.md "Client certificate"). */
export const ClientCertificate = z
  .object({
    id: z.uuid(),
    host: z.string(),
    cert: z.string(),
    ca: z.string().nullable(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'ClientCertificate' });

export const ClientCertificateInput = z
  .object({
    host: z
      .string()
      .min(1)
      .max(253)
      .regex(/^[A-Za-z0-9*]([A-Za-z0-9*_.-]*[A-Za-z0-9*])?$/, 'must be a host name without scheme and port')
      .describe(
        'Host name without scheme; `*` stands for any characters. An exact name goes before one with `*`',
      ),
    cert: pem.describe('PEM, with its line breaks; intermediate certificates may follow the first one'),
    key: pem.describe('PEM of the private key; never shown'),
    ca: pem.nullable().default(null).describe('PEM of the authority to trust for these hosts'),
    passphrase: z.string().max(1024).nullable().default(null).describe('Of an encrypted key; never shown'),
  })
  .meta({ id: 'ClientCertificateInput' });

const certificateRoute = { tag: 'Client certificates', credential: 'account' } as const;
const params = z.object({ id: z.uuid() });

export const clientCertificateRoutes = {
  listClientCertificates: defineRoute({
    ...certificateRoute,
    method: 'GET',
    path: '/v1/client-certificates',
    operationId: 'listClientCertificates',
    summary: 'Client certificates of the account, newest first',
    query: z.object(Paging),
    success: successful,
    response: z.array(ClientCertificate),
  }),
  createClientCertificate: defineRoute({
    ...certificateRoute,
    method: 'POST',
    path: '/v1/client-certificates',
    operationId: 'createClientCertificate',
    summary: 'Create a client certificate',
    body: ClientCertificateInput,
    success: created,
    response: ClientCertificate,
  }),
  getClientCertificate: defineRoute({
    ...certificateRoute,
    method: 'GET',
    path: '/v1/client-certificates/{id}',
    operationId: 'getClientCertificate',
    summary: 'One client certificate',
    params,
    success: successful,
    response: ClientCertificate,
  }),
  deleteClientCertificate: defineRoute({
    ...certificateRoute,
    method: 'DELETE',
    path: '/v1/client-certificates/{id}',
    operationId: 'deleteClientCertificate',
    summary: 'Delete a client certificate',
    params,
    success: noContent,
  }),
};
