import { randomUUID } from 'node:crypto';
import { AppError } from '../../../lib/errors.ts';
import { clientCertificateRoutes } from '../../../protocol/checks/client-certificate.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '../../http/handler.ts';
import { describePage, pageOffset } from '../../http/paging.ts';
import { fieldError } from '../../http/validation.ts';
import type { ClientCertificateRow } from '../tables.ts';
import { certificateProblems } from './material.ts';

/** The routes of client certificates. Private keys and their passphrases are taken and never answered. */
export function clientCertificateHandlers({ store, clock, publicUrl }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(clientCertificateRoutes, {
    async listClientCertificates({ caller, query, request, reply }) {
      const page = { limit: query.limit, offset: pageOffset(query) };
      const { rows, total } = await store.certificates.list(caller.accountId, page);
      describePage(request, reply, { query, total, publicUrl });
      return rows.map(view);
    },
    async createClientCertificate({ caller, body }) {
      const problems = certificateProblems(body);
      if (problems.length > 0) throw fieldError('payload', problems);
      const row: ClientCertificateRow = {
        id: randomUUID(),
        account_id: caller.accountId,
        host: body.host,
        cert: body.cert,
        private_key: body.key,
        ca: body.ca,
        passphrase: body.passphrase,
        created: clock.wallMs(),
      };
      await store.certificates.insert(row);
      return view(row);
    },
    async getClientCertificate({ caller, params }) {
      const row = await store.certificates.find(caller.accountId, params.id);
      if (!row) throw notFound(params.id);
      return view(row);
    },
    async deleteClientCertificate({ caller, params }) {
      if (!(await store.certificates.delete(caller.accountId, params.id))) throw notFound(params.id);
    },
  });
}

function notFound(id: string): AppError {
  return new AppError('NOT_FOUND', `There is no client certificate ${id}.`);
}

function view({ id, host, cert, ca, created }: ClientCertificateRow) {
  return { id, host, cert, ca, created_at: new Date(created).toISOString() };
}
