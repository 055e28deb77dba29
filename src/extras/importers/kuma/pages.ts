import type { Fields } from '@picket/protocol/projects/kind.ts';
import type { Collection } from '../collection.ts';
import { Source } from '../source.ts';
import type { KumaDump } from './dump.ts';

type Tables = KumaDump['tables'];

export interface Pages {
  /** The service that represents a monitor on status pages. */
  readonly services: ReadonlyMap<number, string>;
  /** Status pages by id. */
  readonly pages: ReadonlyMap<number, string>;
}

/**
 * Adds status pages with their groups as cards; each monitor on one becomes a service, whose incidents its check opens.
 */
export function addStatusPages(collection: Collection, tables: Tables): Pages {
  const services = new Map<number, string>();
  const pages = new Map<number, string>();
  const nameOf = new Map((tables['monitor'] ?? []).map(({ id, name }) => [Number(id), String(name)]));
  for (const [index, row] of (tables['status_page'] ?? []).entries()) {
    const source = new Source(row, `status_page.${index}`, collection.losses);
    const id = Number(source.take('id'));
    source.skip('created_date', 'modified_date', 'show_powered_by', 'search_engine_index');
    const slug = source.text('slug') ?? `page-${id}`;
    const title = source.text('title') ?? slug;
    const description = source.text('description');
    const theme = (source.text('theme') ?? 'auto').toUpperCase();
    if (!['AUTO', 'LIGHT', 'DARK'].includes(theme)) source.note('theme', 'it is auto, light or dark');
    source.expect('icon', ['/icon.svg'], 'set "logo" to the address of an image');
    source.expect('published', [1, true], 'an unpublished page is omitted');
    source.expect('auto_refresh_interval', [300], 'pages refresh automatically');
    source.expect('analytics_type', [], 'pages cannot contain third-party scripts');
    if (row['published'] === 0 || row['published'] === false) {
      source.lose('', 'it is not published');
      source.skip(...source.keys);
      continue;
    }
    const groups = (tables['group'] ?? []).filter((group) => Number(group['status_page_id']) === id);
    const cards = groups
      .toSorted((one, other) => Number(one['weight']) - Number(other['weight']))
      .map((group) => ({
        name: String(group['name']),
        services: (tables['monitor_group'] ?? [])
          .filter((link) => link['group_id'] === group['id'])
          .toSorted((one, other) => Number(one['weight']) - Number(other['weight']))
          .map(({ monitor_id: monitor }) => {
            const known = services.get(Number(monitor));
            const name = nameOf.get(Number(monitor)) ?? String(monitor);
            const service = known ?? collection.add('services', name, { name });
            services.set(Number(monitor), service);
            return service;
          }),
      }));
    const url =
      slug
        .replaceAll(/[^A-Za-z0-9-]+/g, '-')
        .replaceAll(/^-+|-+$/g, '')
        .slice(0, 63) || `page-${id}`;
    if (url !== slug) source.note('slug', `addresses have letters, digits and dashes: ${url}`);
    pages.set(
      id,
      collection.add('status-pages', title, {
        ...{ name: title, url, cards },
        ...(description === undefined ? {} : { description: description.slice(0, 500) }),
        ...(['LIGHT', 'DARK'].includes(theme) ? { defaultTheme: theme } : {}),
      }),
    );
    source.finish(() => 'status pages do not have this setting');
  }
  for (const [index, row] of (tables['monitor_group'] ?? []).entries()) {
    for (const key of ['send_url', 'custom_url']) {
      if (!row[key]) continue;
      collection.losses.push({
        field: `monitor_group.${index}.${key}`,
        reason: 'services on status pages have no links',
      });
    }
  }
  return { services, pages };
}

/** Adds windows of one strategy: from one time to another. A tag of the window selects its checks. */
export function addMaintenances(
  collection: Collection,
  tables: Tables,
  { pages }: Pages,
): { readonly tags: ReadonlyMap<number, readonly string[]> } {
  const tags = new Map<number, string[]>();
  for (const [index, row] of (tables['maintenance'] ?? []).entries()) {
    const source = new Source(row, `maintenance.${index}`, collection.losses);
    const id = Number(source.take('id'));
    source.skip('user_id', 'last_start_date');
    const strategy = source.text('strategy') ?? '';
    const isActive = source.flag('active') ?? true;
    const starts = instantOf(source.take('start_date'));
    const ends = instantOf(source.take('end_date'));
    if (strategy !== 'single' || !isActive || starts === undefined || ends === undefined || ends <= starts) {
      source.lose(
        '',
        isActive ? `windows with the strategy "${strategy}" must be created by hand` : 'it is disabled',
      );
      source.skip(...source.keys);
      continue;
    }
    const name = source.text('title') ?? 'Maintenance';
    const description = source.text('description');
    const timezone = source.text('timezone');
    source.expect('timezone', ['SAME_AS_SERVER', 'UTC', timezone], '');
    if (timezone !== undefined && timezone !== 'UTC') {
      source.note('timezone', 'the times are read as UTC: compare the window with the original');
    }
    for (const key of ['weekdays', 'days_of_month'])
      source.expect(key, ['[]'], 'a window that does not repeat has none');
    const tag = `maintenance-${id}`;
    for (const link of tables['monitor_maintenance'] ?? []) {
      if (Number(link['maintenance_id']) !== id) continue;
      const monitor = Number(link['monitor_id']);
      tags.set(monitor, [...(tags.get(monitor) ?? []), tag]);
    }
    const shown = (tables['maintenance_status_page'] ?? []).flatMap((link) =>
      Number(link['maintenance_id']) === id ? (pages.get(Number(link['status_page_id'])) ?? []) : [],
    );
    const window: Fields = {
      name,
      ...(description === undefined ? {} : { description: description.slice(0, 2000) }),
      startsAt: new Date(starts).toISOString(),
      endsAt: new Date(ends).toISOString(),
      tags: [tag],
      ...(shown.length > 0 ? { statusPageVisibility: { enabled: true, statusPages: shown } } : {}),
    };
    collection.add('maintenance-windows', name, window);
    source.finish(() => 'a window that does not repeat has none');
  }
  return { tags };
}

/** The database has local times without a zone. */
function instantOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  const epochMs = Date.parse(`${String(value).replace(' ', 'T')}${/[zZ]$/.test(String(value)) ? '' : 'Z'}`);
  return Number.isNaN(epochMs) ? undefined : epochMs;
}
