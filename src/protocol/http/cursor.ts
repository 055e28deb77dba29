import { z } from 'zod';

/** Start of a page: after the object with this creation time and id. */
export interface Cursor {
  /** Epoch milliseconds. */
  readonly created: number;
  readonly id: string;
}

/** `limit` and `nextId` of lists with cursor paging (check model 4.2). */
export const CursorPaging = {
  limit: z.coerce.number().int().min(1).max(100).default(20).describe('Items per page'),
  nextId: z
    .string()
    .regex(/^\d{1,15}\.[0-9a-f-]{36}$/, 'must be the nextId of a previous response')
    .optional()
    .describe('`nextId` of the previous page'),
};

/** Schema of a page with cursor paging. */
export function cursorPage<Item extends z.ZodType>(item: Item) {
  return z.object({
    length: z.int().describe('Items on this page'),
    entries: z.array(item),
    nextId: z.string().nullable().describe('Cursor of the next page; null on the last page'),
  });
}

/** Parses a `nextId` to its cursor. */
export function parseCursor(nextId: string | undefined): Cursor | undefined {
  if (nextId === undefined) return undefined;
  const [created, id = ''] = nextId.split('.');
  return { created: Number(created), id };
}

/** Formats the `nextId` of a page that ends with an object. */
export function formatCursor({ created, id }: Cursor): string {
  return `${created}.${id}`;
}
