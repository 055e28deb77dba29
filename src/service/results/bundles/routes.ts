import type { FastifyReply } from 'fastify';
import { readCodeBundleKey } from '../../../checks/contract/code-bundle.ts';
import { agentBundleRoutes, codeBundleRoutes } from '../../../protocol/agent/code-bundle.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '../../http/handler.ts';
import { openCodeBundle, takeCodeBundle } from './bundle-upload.ts';

/** The routes by which code bundles come from people and go to agents. */
export function codeBundleHandlers({ artifactStore }: HandlerDeps): [string, AnyHandler][] {
  const send = async (accountId: string, key: string, reply: FastifyReply) => {
    const content = await openCodeBundle(artifactStore, accountId, key);
    reply.headers({
      'content-type': 'application/gzip',
      'content-length': readCodeBundleKey(key).sizeBytes,
      'content-disposition': `attachment; filename="${key}.tar.gz"`,
      'x-content-type-options': 'nosniff',
    });
    await reply.send(content);
  };
  return [
    ...handlersById(codeBundleRoutes, {
      async uploadCodeBundle({ caller, request }) {
        return takeCodeBundle(artifactStore, caller.accountId, request.raw);
      },
      async getCodeBundle({ caller, params, reply }) {
        await send(caller.accountId, params.key, reply);
      },
    }),
    ...handlersById(agentBundleRoutes, {
      async fetchCodeBundle({ caller, params, reply }) {
        await send(caller.account_id, params.key, reply);
      },
    }),
  ];
}
