import { setImmediate as nextTurn } from 'node:timers/promises';
import { counted, shortened } from '../elements/format.ts';
import { section, visible } from '../elements/text.ts';
import { type Content, html, path } from '../html.ts';
import type { PageCall } from '../page.ts';
import type { Shown } from './appearance.ts';

/** Definitions may be sealed, so they are read here rather than searched by the database. */
const portion = 200;
const mostRead = 10_000;
const mostShown = 50;

interface Place {
  readonly name: string;
  readonly href: string;
}

/** Shows where a variable is used: in templates and in scripts. */
export function usesOfVariable(call: PageCall, { key }: Shown): Promise<Content> {
  const pattern = variablePattern(String(key));
  return usesOf(call, (text) => pattern.test(text), true);
}

/** Shows where a snippet is used as a setup or teardown script. */
export function usesOfSnippet(call: PageCall, { id }: Shown): Promise<Content> {
  const names = new RegExp(`"(?:setupSnippetId|tearDownSnippetId)":${String(id)}[,}]`);
  return usesOf(call, (text) => names.test(text), false);
}

/** Matches `{{KEY}}`, or `.KEY` or `['KEY']` of the environment, in the JSON of a definition or in a script. */
export function variablePattern(key: string): RegExp {
  return new RegExp(
    String.raw`(?:\{\{\{?\s*|process\.env(?:\.|\[\\?['"\x60]))${key.replaceAll(/\W/g, '\\$&')}(?![\w$])`,
  );
}

async function usesOf(
  { store, viewer }: PageCall,
  isNamed: (text: string) => boolean,
  hasSnippets: boolean,
): Promise<Content> {
  const { accountId } = viewer;
  const checks: Place[] = [];
  let read = 0;
  for (; read < mostRead && checks.length < mostShown; read += portion) {
    const found = await store.checks.list(accountId, {}, { limit: portion, offset: read });
    for (const { id, definition } of found.checks) {
      if (!isNamed(JSON.stringify(definition))) continue;
      checks.push({ name: String(definition['name']), href: path`/checks/${id}` });
    }
    if (found.checks.length < portion) break;
    // Thousands of definitions are parsed one after the other: yield to other work in between.
    await nextTurn();
  }
  const page = { limit: portion, offset: 0 };
  const groups = await store.groups.listMatching(accountId, {}, page);
  const snippets = hasSnippets ? await store.snippets.list(accountId, page) : { rows: [] };
  const mayOpen = viewer.role === 'ADMIN' || viewer.role === 'READ_WRITE';
  const places = {
    Check: checks.slice(0, mostShown),
    Group: groups.rows.flatMap(({ id, definition }) =>
      isNamed(JSON.stringify(definition))
        ? [{ name: String(definition['name']), href: mayOpen ? path`/groups/${String(id)}/edit` : '/groups' }]
        : [],
    ),
    Snippet: snippets.rows.flatMap(({ id, name, script }) =>
      isNamed(script) ? [{ name, href: path`/settings/snippets/${String(id)}/details` }] : [],
    ),
  };
  const all = Object.entries(places).flatMap(([kind, list]) => list.map((place) => ({ kind, ...place })));
  return section(
    'Used by',
    all.length === 0
      ? html`<p class="soft">No check, group or snippet uses it.</p>`
      : html`<ul class="plain">${all.map(
          ({ kind, name, href }) =>
            html`<li>${kind} <a href="${href}">${visible(shortened(name, 120))}</a></li>`,
        )}</ul>${checks.length > mostShown ? html`<p class="hint">The first ${counted(mostShown, 'check')}. There are more.</p>` : ''}`,
    'uses',
  );
}
