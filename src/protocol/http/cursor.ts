import { z } from 'zod';

/** Where a page of a list begins: behind the object with this creation time and id. */
export interface Cursor {
  /** Epoch milliseconds. */
  readonly created: number;
  readonly id: string;
}

/** `limit` and `nextId` of lists that page by cursor (check model 4.2). */
export const CursorPaging = {
  limit: z.coerce.number().int().min(1).max(100).default(20).describe('Items per page'),
  nextId: z
    .string()
    .regex(/^\d{1,15}\.[0-9a-f-]{36}$/, 'must be the nextId of a previous response')
    .optional()
    .describe('`nextId` of the page before'),
};

/** A page of a list that pages by cursor. */
export function cursorPage<Item extends z.ZodType>(item: Item) {
  return z.object({
    length: z.int().describe('Items on this page'),
    entries: z.array(item),
    nextId: z.string().nullable().describe('Cursor of the next page; null on the last page'),
  });
}

/** The cursor that a `nextId` means. */
export function parseCursor(nextId: string | undefined): Cursor | undefined {
  if (nextId === undefined) return undefined;
  const [created, id = ''] = nextId.split('.');
  return { created: Number(created), id };
}

/** The `nextId` of a page that ends with an object. */
export function formatCursor({ created, id }: Cursor): string {
  return `${created}.${id}`;
}
