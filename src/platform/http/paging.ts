import { formatCursor } from '@picket/protocol/http/cursor.ts';
import type { CallRequest, Reply } from '../feature/exchange.ts';

export interface PageQuery {
  readonly limit: number;
  readonly page: number;
}

/** Returns the offset of a page. */
export function pageOffset(query: PageQuery): number {
  return (query.page - 1) * query.limit;
}

/**
 * Describes the position of a page in its list (check model 4.3): `Content-Range: 0-9/23` and `Link` to the next and
 * the last page.
 */
export function describePage(
  request: Pick<CallRequest, 'url'>,
  reply: Pick<Reply, 'header'>,
  options: { readonly query: PageQuery; readonly total: number; readonly publicUrl?: string | undefined },
): void {
  const { query, total, publicUrl } = options;
  const first = pageOffset(query);
  const last = Math.min(first + query.limit, total) - 1;
  reply.header('content-range', last < first ? `*/${total}` : `${first}-${last}/${total}`);
  const lastPage = Math.max(1, Math.ceil(total / query.limit));
  const links = [`<${pageUrl(request, lastPage, publicUrl)}>; rel="last"`];
  if (query.page < lastPage) links.unshift(`<${pageUrl(request, query.page + 1, publicUrl)}>; rel="next"`);
  reply.header('link', links.join(', '));
}

function pageUrl(request: Pick<CallRequest, 'url'>, page: number, publicUrl: string | undefined): string {
  const url = new URL(request.url, 'http://relative.invalid');
  url.searchParams.set('page', String(page));
  return `${publicUrl?.replace(/\/+$/, '') ?? ''}${url.pathname}${url.search}`;
}

/**
 * Builds a page of a cursor-paged list from its rows and one extra row that reveals whether there is a next page.
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
