import { z } from 'zod';
import { NumericId, Paging } from '../http/query.ts';
import { created, defineRoute, noContent, successful } from '../http/route.ts';

/** A piece of script that checks share (spec.md "Snippet"). */
export const Snippet = z
  .object({
    id: z.int(),
    name: z.string(),
    script: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Snippet' });

const name = z.string().min(1).max(255);
const script = z
  .string()
  .max(262_144)
  .describe('Node.js code: a setup or teardown script, or a part of other scripts');

export const SnippetInput = z.object({ name, script }).meta({ id: 'SnippetInput' });
export const SnippetPatch = z
  .object({ name: name.optional(), script: script.optional() })
  .meta({ id: 'SnippetPatch' });

const snippetRoute = { tag: 'Snippets', credential: 'account' } as const;
const params = z.object({ id: NumericId });

export const snippetRoutes = {
  listSnippets: defineRoute({
    ...snippetRoute,
    method: 'GET',
    path: '/v1/snippets',
    operationId: 'listSnippets',
    summary: 'Snippets of the account, newest first',
    query: z.object(Paging),
    success: successful,
    response: z.array(Snippet),
  }),
  createSnippet: defineRoute({
    ...snippetRoute,
    method: 'POST',
    path: '/v1/snippets',
    operationId: 'createSnippet',
    summary: 'Create a snippet',
    body: SnippetInput,
    success: created,
    response: Snippet,
  }),
  getSnippet: defineRoute({
    ...snippetRoute,
    method: 'GET',
    path: '/v1/snippets/{id}',
    operationId: 'getSnippet',
    summary: 'One snippet',
    params,
    success: successful,
    response: Snippet,
  }),
  updateSnippet: defineRoute({
    ...snippetRoute,
    method: 'PUT',
    path: '/v1/snippets/{id}',
    operationId: 'updateSnippet',
    summary: 'Change a snippet; absent fields keep their value',
    params,
    body: SnippetPatch,
    success: successful,
    response: Snippet,
  }),
  deleteSnippet: defineRoute({
    ...snippetRoute,
    method: 'DELETE',
    path: '/v1/snippets/{id}',
    operationId: 'deleteSnippet',
    summary: 'Delete a snippet; setup and teardown phases that still name it fail and say so',
    params,
    success: noContent,
  }),
};
