import { AppError } from '../../../lib/errors.ts';
import { snippetRoutes } from '../../../protocol/checks/snippet.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '../../http/handler.ts';
import { describePage, pageOffset } from '../../http/paging.ts';
import type { Snippet } from './store.ts';

/** The routes of snippets: pieces of script that an account's checks share. */
export function snippetHandlers({ store, clock, publicUrl }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(snippetRoutes, {
    async listSnippets({ caller, query, request, reply }) {
      const page = { limit: query.limit, offset: pageOffset(query) };
      const { rows, total } = await store.snippets.list(caller.accountId, page);
      describePage(request, reply, { query, total, publicUrl });
      return rows.map(view);
    },
    async createSnippet({ caller, body }) {
      const row = { account_id: caller.accountId, ...body, created: clock.wallMs(), updated: null };
      return view(await store.snippets.insert(row));
    },
    async getSnippet({ caller, params }) {
      return view(found(await store.snippets.find(caller.accountId, params.id), params.id));
    },
    async updateSnippet({ caller, params, body }) {
      return store.transaction(async (repositories) => {
        const stored = found(
          await repositories.snippets.findForUpdate(caller.accountId, params.id),
          params.id,
        );
        const changed = {
          ...stored,
          name: body.name ?? stored.name,
          script: body.script ?? stored.script,
          updated: clock.wallMs(),
        };
        await repositories.snippets.update(changed);
        return view(changed);
      });
    },
    async deleteSnippet({ caller, params }) {
      if (!(await store.snippets.delete(caller.accountId, params.id))) throw notFound(params.id);
    },
  });
}

function notFound(id: number): AppError {
  return new AppError('NOT_FOUND', `There is no snippet ${id}.`);
}

function found(row: Snippet | undefined, id: number): Snippet {
  if (!row) throw notFound(id);
  return row;
}

function view(row: Snippet) {
  return {
    id: row.id,
    name: row.name,
    script: row.script,
    created_at: new Date(row.created).toISOString(),
    updated_at: row.updated === null ? null : new Date(row.updated).toISOString(),
  };
}
