import { DatabaseSync } from 'node:sqlite';
import { dictionary } from '@picket/lib/names/dictionary.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';
import type { Loss } from '../source.ts';

/** Rows by table, as in the database of Uptime Kuma; lists and flags may also be JSON values. */
export interface KumaDump {
  readonly tables: Readonly<Record<string, readonly Fields[]>>;
  /** Parts that were not read at all. */
  readonly losses: readonly Loss[];
}

/** Tables whose rows are not imported, with the reason. */
const unread = dictionary<string>({
  user: 'invite members again: picket service invite',
  api_key: 'create new keys: POST /v1/api-keys',
  heartbeat: 'past results stay in Uptime Kuma',
  stat_minutely: 'past results stay in Uptime Kuma',
  stat_hourly: 'past results stay in Uptime Kuma',
  stat_daily: 'past results stay in Uptime Kuma',
  incident: 'past incidents stay in Uptime Kuma',
});
/** Internal tables of Uptime Kuma. */
const internal =
  /^(sqlite_|knex_|monitor_tls_info$|notification_sent_history$|maintenance_timeslot$|domain_expiry$)/;

/** Reads a database in read-only mode. @throws Error if the file is not a database. */
export function readKumaDatabase(path: string): KumaDump {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const names = database
      .prepare("select name from sqlite_master where type = 'table' order by name")
      .all()
      .map(({ name }) => String(name));
    const tables: Record<string, Fields[]> = {};
    const losses: Loss[] = [];
    for (const name of names) {
      if (internal.test(name)) continue;
      const reason = unread[name];
      if (reason === undefined) {
        tables[name] = database.prepare(`select * from "${name.replaceAll('"', '""')}"`).all() as Fields[];
        continue;
      }
      const count = database.prepare(`select count(*) as count from "${name}"`).get()?.['count'];
      if (Number(count) > 0) losses.push({ field: name, reason: `${count} rows: ${reason}` });
    }
    return { tables, losses };
  } finally {
    database.close();
  }
}

/** Converts the JSON of a backup (Settings, Backup, of version 1) to the structure of the database. */
export function kumaBackup(backup: Fields): KumaDump {
  const monitors = listOf(backup['monitorList']).map(snakeKeys);
  const linked = listOf(backup['monitorList']).flatMap((monitor) =>
    Object.entries((monitor['notificationIDList'] ?? {}) as Fields).flatMap(([id, isOn]) =>
      isOn === true ? [{ monitor_id: monitor['id'], notification_id: Number(id) }] : [],
    ),
  );
  const tagged = listOf(backup['monitorList']).flatMap((monitor) =>
    listOf(monitor['tags']).map(({ name, color, value }) => ({
      monitor_id: monitor['id'],
      name,
      color,
      value,
    })),
  );
  const names = [...new Set(tagged.map(({ name }) => name))];
  const known = new Set(['version', 'notificationList', 'monitorList', 'proxyList']);
  const others = Object.entries(backup).filter(([key, value]) => !known.has(key) && value !== null);
  return {
    tables: {
      monitor: monitors.map(
        ({ notification_idlist: _ids, notification_id_list: _list, tags: _tags, ...rest }) => rest,
      ),
      notification: listOf(backup['notificationList']).map(snakeKeys),
      proxy: listOf(backup['proxyList']).map(snakeKeys),
      monitor_notification: linked,
      tag: names.map((name, index) => ({
        ...{ id: index + 1, name },
        color: tagged.find((one) => one.name === name)?.color,
      })),
      monitor_tag: tagged.map(({ monitor_id, name, value }) => ({
        ...{ monitor_id, tag_id: names.indexOf(name) + 1, value },
      })),
    },
    losses: others.map(([key]) => ({ field: key, reason: 'it is an unknown part of a backup' })),
  };
}

function listOf(value: unknown): readonly Fields[] {
  if (Array.isArray(value)) return value as Fields[];
  return typeof value === 'object' && value !== null ? (Object.values(value) as Fields[]) : [];
}

/** Backups use other names than the database for some columns. */
function snakeKeys(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => {
      const snake = key.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
      return [snake === 'accepted_statuscodes' ? 'accepted_statuscodes_json' : snake, value];
    }),
  );
}
