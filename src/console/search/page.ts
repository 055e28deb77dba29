import { shortened } from '../elements/format.ts';
import { icon } from '../elements/icon.ts';
import { visible } from '../elements/text.ts';
import { type Html, html } from '../html.ts';
import { heading } from '../layout.ts';
import { stateGlyph } from '../overview/glyph.ts';
import type { Page, PageAnswer, PageCall } from '../page.ts';
import { type Found, findAll } from './find.ts';

/** Names the list alone, for the dialog of assets/app/palette.js. */
const partName = 'part';

/**
 * The page that finds everything by name: a plain form without scripts; with them, a dialog shows its list on every page.
 *
 * @param pages every page of the console, which it finds by title.
 */
export function searchPages(pages: () => readonly Page[]): readonly Page[] {
  return [{ path: '/search', title: 'Search', role: 'READ_ONLY', handler: (call) => search(call, pages()) }];
}

async function search(call: PageCall, pages: readonly Page[]): Promise<PageAnswer> {
  const { query, reply } = call;
  const sought = query.get('q')?.trim() ?? '';
  const found = await findAll(call, sought, pages);
  if (query.get(partName) === 'list') {
    reply.type('text/html; charset=utf-8').send(String(list(found, sought)));
    return 'answered';
  }
  const main = html`${heading('Search')}
<form class="search-form" method="get" action="/search" role="search"><label class="hidden" for="search-everything">Name of a check, location, group, status page, page or action</label><input id="search-everything" type="search" name="q" value="${sought.slice(0, 200)}" placeholder="Checks, locations, groups, status pages, settings, actions"><button class="button primary" type="submit">Search</button></form>
${list(found, sought)}`;
  return { main };
}

function list(found: readonly Found[], sought: string): Html {
  if (found.length === 0)
    return html`<p class="empty" role="status">Nothing is called “${visible(shortened(sought, 60))}”.</p>`;
  return html`<ul class="found" aria-label="Results">${found.map((one) => html`<li>${entry(one)}</li>`)}</ul>`;
}

function entry({ name, note, kind, icon: iconName, state, href }: Found): Html {
  const words = html`${state === undefined ? icon(iconName) : stateGlyph(state)}<span class="found-name">${visible(shortened(name, 120))}</span>${note === '' ? '' : html`<span class="found-note soft">${visible(shortened(note, 60))}</span>`}<span class="found-kind soft">${kind}</span>`;
  // The form of the navigation ends the session.
  if (href === null) return html`<button class="found-entry" type="submit" form="logout">${words}</button>`;
  return html`<a class="found-entry" href="${href}">${words}</a>`;
}
