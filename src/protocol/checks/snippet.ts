import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { ManagedFields } from '../http/managed-fields.ts';
import { NumericId } from '../http/query.ts';
import { defineResourceApi } from '../http/resource.ts';

/** A script that checks share (spec.md "Snippet"). */
export const Snippet = lazySchema(() =>
  z
    .object({
      id: z.int(),
      name: z.string(),
      script: z.string(),
      created_at: z.iso.datetime(),
      updated_at: z.iso.datetime().nullable(),
      ...ManagedFields,
    })
    .meta({ id: 'Snippet' }),
);

const name = z.string().min(1).max(255);
const script = z
  .string()
  .max(262_144)
  .describe('Node.js code: a setup or teardown script, or a part of other scripts');

export const SnippetInput = lazySchema(() => z.object({ name, script }).meta({ id: 'SnippetInput' }));
export const SnippetPatch = lazySchema(() =>
  z.object({ name: name.optional(), script: script.optional() }).meta({ id: 'SnippetPatch' }),
);

export const snippetApi = defineResourceApi({
  noun: 'snippet',
  order: 'newest first',
  key: NumericId,
  shown: Snippet,
  input: SnippetInput,
  patch: SnippetPatch,
  deleteNote: 'setup and teardown phases that still use it fail with a clear error',
});
