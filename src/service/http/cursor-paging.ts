import { formatCursor } from '../../protocol/http/cursor.ts';

/**
 * A page of a list that pages by cursor, from its rows and one more that tells whether there is a next page.
 *
 * @param rows up to `limit + 1`.
 */
export async function pageOf<Row extends { readonly id: string; readonly created: number }, View>(
  rows: readonly Row[],
  limit: number,
  view: (rows: readonly Row[]) => Promise<View[]>,
): Promise<{ length: number; entries: View[]; nextId: string | null }> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const entries = await view(shown);
  return {
    length: entries.length,
    entries,
    nextId: rows.length > limit && last ? formatCursor(last) : null,
  };
}
