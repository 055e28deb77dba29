import { dictionary } from '@picket/lib/names/dictionary.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';
import { Collection, type Imported, type ImportOptions } from '../collection.ts';
import { Source } from '../source.ts';
import type { KumaDump } from './dump.ts';
import { readMonitor } from './monitors.ts';
import { addNotification } from './notifications.ts';
import { addMaintenances, addStatusPages } from './pages.ts';

const reasons = dictionary<string>({
  proxy: 'a proxy is a setting of the private location (proxyUrl)',
  docker_host: 'container checks are not supported',
  remote_browser: 'agents use their own browsers',
  setting: 'it is a setting of Uptime Kuma that checks do not have',
  status_page_cname: 'set customDomain of the status page',
});
const read = new Set([
  ...[
    'monitor',
    'notification',
    'monitor_notification',
    'tag',
    'monitor_tag',
    'maintenance',
    'monitor_maintenance',
  ],
  ...['status_page', 'group', 'monitor_group', 'maintenance_status_page'],
]);

/** Imports a complete Uptime Kuma: its monitors, groups, notifications, tags, status pages and maintenance. */
export function importKuma({ tables, losses }: KumaDump, options: ImportOptions): Imported {
  const collection = new Collection(options);
  collection.losses.push(...losses);
  const rows = (table: string) => tables[table] ?? [];
  for (const [table, found] of Object.entries(tables)) {
    if (read.has(table)) continue;
    for (const [index, row] of found.entries()) {
      const name = row['key'] ?? row['name'] ?? row['domain'] ?? index;
      collection.losses.push({
        field: `${table}.${index}`,
        reason: `${String(name)}: ${reasons[table] ?? 'nothing corresponds to it'}`,
      });
    }
  }
  const monitors = rows('monitor');
  const channels = addChannels(collection, tables);
  const groups = addGroups(collection, monitors);
  const tags = tagsOf(collection, tables);
  const pages = addStatusPages(collection, tables);
  const windows = addMaintenances(collection, tables, pages);
  for (const [index, row] of monitors.entries()) {
    if (row['type'] === 'group') continue;
    const source = new Source(row, `monitor.${index}`, collection.losses);
    const id = row['id'];
    const name = source.text('name') ?? 'unnamed';
    const check = readMonitor(source, collection, name);
    if (!check) continue;
    const parent = source.number('parent');
    const group = parent === undefined ? undefined : groups.get(parent);
    if (parent !== undefined && group === undefined) source.note('parent', 'there is no such group');
    const alertChannels = rows('monitor_notification').flatMap((link) =>
      link['monitor_id'] === id ? (channels.get(Number(link['notification_id'])) ?? []) : [],
    );
    const service = pages.services.get(Number(id));
    const all = [...(tags.get(Number(id)) ?? []), ...(windows.tags.get(Number(id)) ?? [])];
    collection.add('checks', name, {
      ...check,
      ...(group === undefined ? {} : { group }),
      ...(all.length > 0 ? { tags: [...new Set(all)] } : {}),
      ...(alertChannels.length > 0 ? { alertChannels } : {}),
      ...(service === undefined ? {} : { triggerIncident: incidentOf(name, service) }),
      ...(check['checkType'] === 'HEARTBEAT' ? {} : { privateLocations: [collection.location] }),
    });
    source.finish((key) =>
      key === 'proxy_id'
        ? (reasons['proxy'] ?? '')
        : `monitors of type "${String(row['type'])}" here do not have it`,
    );
  }
  for (const [index, link] of rows('monitor_notification').entries()) {
    if (channels.has(Number(link['notification_id']))) continue;
    const reason = 'the notification that it leads to is not carried over';
    collection.losses.push({ field: `monitor_notification.${index}`, reason });
  }
  return collection.finish();
}

function incidentOf(name: string, service: string): Fields {
  return { service, name: `${name} is down`.slice(0, 255), description: '', notifySubscribers: true };
}

function addChannels(collection: Collection, tables: KumaDump['tables']): Map<number, string> {
  const channels = new Map<number, string>();
  // Uptime Kuma warns of certificates for each monitor, channels do for all of their checks.
  const isWarned = (tables['monitor'] ?? []).some(
    ({ type, expiry_notification: on }) =>
      /http|keyword|json/.test(String(type)) && (on === 1 || on === true),
  );
  const more = isWarned ? { sslExpiry: true, sslExpiryThreshold: 21 } : {};
  for (const [index, row] of (tables['notification'] ?? []).entries()) {
    const channel = addNotification(row, index, collection, more);
    if (channel !== undefined) channels.set(Number(row['id']), channel);
  }
  return channels;
}

/** Imports monitors of type `group` as groups; the name of a nested one includes its parent. */
function addGroups(collection: Collection, monitors: readonly Fields[]): Map<number, string> {
  const groups = new Map<number, string>();
  for (const [index, row] of monitors.entries()) {
    if (row['type'] !== 'group') continue;
    const source = new Source(row, `monitor.${index}`, collection.losses);
    const name = source.text('name') ?? 'unnamed';
    const isActive = source.flag('active') ?? true;
    source.skip('type', 'id', 'user_id', 'weight', 'created_date', 'path_name', 'children_ids', 'path');
    if (source.peek('parent')) source.lose('parent', 'groups cannot contain groups');
    for (const [key, value] of Object.entries(groupDefaults)) {
      source.expect(key, value, 'a group does not run by itself');
    }
    groups.set(
      Number(row['id']),
      collection.add('groups', name, { name, ...(isActive ? {} : { activated: false }) }),
    );
    source.finish(() => 'a group does not run by itself');
  }
  return groups;
}

const groupDefaults: Readonly<Record<string, readonly unknown[]>> = {
  interval: [60, 20],
  retry_interval: [60, 20],
  maxredirects: [10],
  method: ['GET'],
  packet_size: [56],
  accepted_statuscodes_json: ['["200-299"]', ['200-299']],
  conditions: ['[]'],
  json_path_operator: ['=='],
  expiry_notification: [1, true],
  domain_expiry_notification: [1, true],
  gamedig_given_port_only: [1, true],
  kafka_producer_sasl_options: ['{"mechanism":"None"}'],
  kafka_producer_brokers: ['[]'],
  timeout: [48],
};

/** Tags of monitors: the name, and the value if there is one. */
function tagsOf(collection: Collection, tables: KumaDump['tables']): Map<number, string[]> {
  const names = new Map<unknown, string>();
  for (const [index, row] of (tables['tag'] ?? []).entries()) {
    names.set(row['id'], String(row['name']));
    if (row['color']) collection.losses.push({ field: `tag.${index}.color`, reason: 'tags have no colours' });
  }
  const tags = new Map<number, string[]>();
  for (const { tag_id: tag, monitor_id: monitor, value } of tables['monitor_tag'] ?? []) {
    const name = names.get(tag) ?? '';
    const text = typeof value === 'string' && value !== '' ? `${name}:${value}` : name;
    tags.set(Number(monitor), [...(tags.get(Number(monitor)) ?? []), text]);
  }
  return tags;
}
