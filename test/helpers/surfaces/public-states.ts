import type { Read, Said, Watched } from './said.ts';
import { sameOfAll, shownIn, stateShownAs } from './said.ts';

/** Public surfaces: dashboards, status pages, badges and feeds. */
export interface PublicPlaces {
  readonly dashboard: string;
  /** A page with one component for each check, named by the id of the check. */
  readonly parts: string;
  /** A page of the checks with healthy targets only, so that its badge, first line and feeds are about those alone. */
  readonly well: string;
  readonly wellIds: readonly string[];
  /** A group of those checks. */
  readonly groupId: number;
  readonly groupIds: readonly string[];
}

/** The states of checks that they show, by the name of the surface. */
export function publicStates(
  read: Read,
  { dashboard, parts, well, wellIds, groupId, groupIds }: PublicPlaces,
  { ids, names }: Watched,
): Readonly<Record<string, Promise<Map<string, Said>>>> {
  const ofName = new Map([...names].map(([id, name]) => [name, id]));
  const ofComponents = (page: string) => shownIn(page).filter(([id]) => ids.includes(id));
  return {
    dashboard: read(`/v1/public/dashboards/${dashboard}`).then((text) => {
      const checks: { checkId: string; state: Said }[] = JSON.parse(text).checks;
      return new Map(checks.map(({ checkId, state }) => [checkId, state]));
    }),
    'dashboard in the browser': read(`/dashboards/${dashboard}`).then(
      (page) => new Map(shownIn(page).map(([name, said]) => [ofName.get(name) ?? '', said])),
    ),
    'first line of the dashboard': read(`/dashboards/${dashboard}`).then((page) =>
      sameOfAll(ids, /class="overall overall-passed/.test(page) ? 'passing' : undefined),
    ),
    badge: Promise.all(ids.map((id) => read(`/v1/badges/checks/${id}`))).then(
      (badges) =>
        new Map(badges.map((badge, at) => [ids[at] ?? '', wordOf(badge).replace(' ', '-') as Said])),
    ),
    'badge of the group': read(`/v1/badges/groups/${groupId}`).then((badge) =>
      sameOfAll(groupIds, worst(wordOf(badge))),
    ),
    'status page': read(`/v1/public/status-pages/${parts}`).then((text) => {
      const { components }: { components: Part[] } = JSON.parse(text);
      return new Map(
        components.filter(({ name }) => ids.includes(name)).map((part) => [part.name, saidOf(part)]),
      );
    }),
    'status page in the browser': read(`/status/${parts}`).then((page) => new Map(ofComponents(page))),
    'first line of the status page': read(`/status/${well}`).then((page) => {
      const shown = /class="overall overall-(\w+)"/.exec(page)?.[1] ?? '';
      return sameOfAll(wellIds, shown === 'missed' ? undefined : (stateShownAs(shown) ?? undefined));
    }),
    'badge of the status page': read(`/v1/badges/status-pages/${well}`).then((badge) =>
      sameOfAll(wellIds, worst(wordOf(badge).replace('operational', 'passing'))),
    ),
    feed: read(`/status/${well}/incidents.json`).then((text) =>
      sameOfAll(wellIds, JSON.parse(text).items.length > 0 ? 'failing' : undefined),
    ),
    'Atom feed': read(`/status/${well}/incidents.atom`).then((text) =>
      sameOfAll(wellIds, text.includes('<entry>') ? 'failing' : undefined),
    ),
    'RSS feed': read(`/status/${well}/incidents.rss`).then((text) =>
      sameOfAll(wellIds, text.includes('<item>') ? 'failing' : undefined),
    ),
  };
}

interface Part {
  readonly name: string;
  readonly state: string;
  readonly measuredNow: string | null;
}

/** Pages show "operational" for a passing check without an incident. */
function saidOf({ state, measuredNow }: Part): Said {
  if (state !== 'OPERATIONAL') return 'failing';
  return measuredNow === 'FULL' ? 'passing' : 'not-measured';
}

/** The state that a summary of several checks implies for each: all pass, or at least one fails. */
function worst(word: string): Said | undefined {
  if (/fail|problem|degraded/.test(word)) return 'failing';
  return word === 'passing' ? 'passing' : undefined;
}

/** `passing` of `shop: passing 61.53 % measured`. */
function wordOf(badge: string): string {
  return /aria-label="[^"]*: ([a-z ]+?)(?: [\d<][^"]*)?"/.exec(badge)?.[1] ?? '';
}
