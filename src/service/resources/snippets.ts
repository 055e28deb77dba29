import { accountTable } from '@picket/platform/store/engine/account-table.ts';
import { snippetApi } from '@picket/protocol/checks/snippet.ts';
import type { Generated, Selectable } from 'kysely';
import { defineResource } from './resource.ts';

interface SnippetRow {
  id: Generated<number>;
  account_id: string;
  name: string;
  script: string;
  created: number;
  updated: number | null;
}

export type Snippet = Selectable<SnippetRow>;

/** Scripts that an account's checks share. Their table is created by `0005-account-resources`. */
export const snippets = defineResource(
  snippetApi,
  accountTable<SnippetRow>()({ name: 'snippets', key: 'id' }),
)({
  columns: ({ name, script }) => ({ name, script }),
  view: ({ id, name, script }) => ({ id, name, script }),
});
