import { findCheckType } from '@picket/checks/index.ts';
import { ranks } from '@picket/platform/ids/keys.ts';
import type { NamedThing } from '@picket/service/overviews/names.ts';
import { shownStates } from '@picket/service/overviews/states.ts';
import type { State } from '../elements/state.ts';
import { path, withQuery } from '../html.ts';
import type { Page, PageCall } from '../page.ts';

/** Something to go to. */
export interface Found {
  readonly name: string;
  /** Shown after the name. */
  readonly note: string;
  /** `Page`, `Check`. */
  readonly kind: string;
  readonly icon: string;
  /** The state of a check. */
  readonly state?: State | undefined;
  /** null: the action that ends the session, a form instead of an address. */
  readonly href: string | null;
}

const mostChecks = 10;
const mostOfOthers = 6;
const mostPages = 10;
const mostWords = 6;
const mostLetters = 200;

/**
 * Finds pages, actions, checks, locations, groups, status pages and dashboards by name. Names that begin with the first
 * word are first. Without a word, only pages and actions.
 */
export async function findAll(call: PageCall, sought: string, pages: readonly Page[]): Promise<Found[]> {
  const words = sought.toLowerCase().slice(0, mostLetters).split(/\s+/).filter(Boolean).slice(0, mostWords);
  const ofPages = placesOf(call, pages).filter((place) => matches(place, words));
  if (words.length === 0) return ofPages;
  const { store, viewer, clock } = call;
  const [checks, others] = [
    await store.names.checks(viewer.accountId, words, mostChecks),
    await store.names.others(viewer.accountId, words),
  ];
  const states = await store.states.of(
    viewer.accountId,
    checks.map(({ id }) => id),
    clock.wallMs(),
  );
  const found: Found[] = [
    ...ofPages.slice(0, mostPages),
    ...checks.map((check) => {
      const state = states.get(check.id)?.state;
      return { ...placeOf(check), ...(state === undefined ? {} : { state: shownStates[state] }) };
    }),
    ...[...Map.groupBy(others, ({ kind }) => kind).values()].flatMap((ofKind) =>
      ofKind.slice(0, mostOfOthers).map(placeOf),
    ),
  ];
  const [first = ''] = words;
  return found.toSorted((left, right) => distance(left, first) - distance(right, first));
}

function matches({ name, note, kind }: Found, words: readonly string[]): boolean {
  const text = `${name} ${note} ${kind}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** 0: the name begins with the word, 1: a word of the name does, 2: neither. */
function distance({ name }: Found, word: string): number {
  const text = name.toLowerCase();
  if (text.startsWith(word)) return 0;
  return text.split(/[^\p{L}\p{N}]+/u).some((part) => part.startsWith(word)) ? 1 : 2;
}

/** Every page that the viewer's role may open without choosing an object first, and the action to log out. */
function placesOf({ viewer }: PageCall, pages: readonly Page[]): Found[] {
  const own = pages.filter(
    ({ method = 'GET', path: address, role }) =>
      method === 'GET' && !/[:*]/.test(address) && ranks[viewer.role] >= ranks[role],
  );
  const titles = new Set<string>();
  const places = own.flatMap(({ path: href, title, navigation }): Found[] => {
    // The entry of an area leads to its first page, which has the same title.
    if (titles.has(title) || href === '/search') return [];
    titles.add(title);
    const isAction = href.endsWith('/new');
    const area = own.find((one) => one.navigation && one.path !== '/' && href.startsWith(`${one.path}/`));
    const icon = navigation?.icon ?? (isAction ? 'plus' : (area?.navigation?.icon ?? 'arrow-right'));
    const note = isAction || !area?.navigation ? '' : area.navigation.word;
    return [{ name: title, note, kind: isAction ? 'Action' : 'Page', icon, href }];
  });
  return [...places, { name: 'Log out', note: '', kind: 'Action', icon: 'sign-out', href: null }];
}

function placeOf({ kind, id, name, note }: NamedThing): Found {
  switch (kind) {
    case 'check': {
      const type = findCheckType(note);
      const [title, icon] = [type?.title ?? note, type?.icon ?? 'question'];
      return { name, note: title, kind: 'Check', icon, href: path`/checks/${id}` };
    }
    case 'group':
      return { name, note, kind: 'Group', icon: 'stack', href: withQuery('/', { group: id }) };
    case 'location':
      return { name, note, kind: 'Location', icon: 'location', href: path`/locations/${id}` };
    case 'status page':
      return { name, note, kind: 'Status page', icon: 'broadcast', href: path`/pages/status/${id}` };
    case 'dashboard':
      return { name, note, kind: 'Dashboard', icon: 'dashboard', href: path`/pages/dashboards/${id}` };
  }
}
