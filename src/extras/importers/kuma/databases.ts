import type { Collection } from '../collection.ts';
import type { Source } from '../source.ts';
import type { Look } from './look.ts';

/** A query of PostgreSQL. @returns undefined without a connection string that names a host and a user. */
export function postgres(monitor: Source, collection: Collection, name: string): Look | undefined {
  const url = databaseUrl(monitor, /^postgres(ql)?:$/);
  if (!url) return undefined;
  const mode = url.searchParams.get('sslmode') ?? url.searchParams.get('ssl') ?? 'disable';
  const useSSL = !isOff(mode);
  noteOptions(monitor, url, ['sslmode', 'ssl']);
  return databaseLook(
    monitor,
    { url, collection, name },
    {
      useSSL,
      ...(useSSL && mode !== 'verify-full' ? { skipSSL: true } : {}),
    },
  );
}

/** A query of MySQL or MariaDB; its password has a column of its own, which it shares with RADIUS. */
export function mysql(monitor: Source, collection: Collection, name: string): Look | undefined {
  const url = databaseUrl(monitor, /^(mysql|mariadb):$/);
  if (!url) return undefined;
  const options = url.searchParams.get('ssl') ?? 'false';
  const useSSL = !isOff(options);
  noteOptions(monitor, url, ['ssl']);
  const password = monitor.text('radius_password');
  if (password !== undefined) url.password = encodeURIComponent(password);
  return databaseLook(
    monitor,
    { url, collection, name },
    {
      engine: 'MYSQL',
      useSSL,
      ...(useSSL && /"rejectUnauthorized":\s*false/.test(options) ? { skipSSL: true } : {}),
    },
  );
}

function databaseUrl(monitor: Source, protocol: RegExp): URL | undefined {
  const url = URL.parse(monitor.text('database_connection_string') ?? '');
  return url && protocol.test(url.protocol) && url.hostname !== '' && url.username !== '' ? url : undefined;
}

function isOff(option: string): boolean {
  return ['disable', 'false', '0'].includes(option);
}

function noteOptions(monitor: Source, url: URL, known: readonly string[]): void {
  const further = [...url.searchParams.keys()].filter((key) => !known.includes(key));
  if (further.length > 0)
    monitor.note('database_connection_string', `its options are left out: ${further.join(', ')}`);
}

function databaseLook(
  monitor: Source,
  { url, collection, name }: { readonly url: URL; readonly collection: Collection; readonly name: string },
  own: Readonly<Record<string, unknown>>,
): Look {
  const query = monitor.text('database_query');
  return {
    checkType: 'SQL',
    fields: {
      request: {
        hostname: url.hostname.replace(/^\[|\]$/g, ''),
        ...(url.port === '' ? {} : { port: Number(url.port) }),
        username: decoded(url.username),
        ...(url.password === ''
          ? {}
          : { password: collection.secret(`${name}_password`, decoded(url.password)) }),
        ...(url.pathname.length > 1 ? { database: decoded(url.pathname.slice(1)) } : {}),
        ...(query === undefined ? {} : { query }),
        ...own,
      },
    },
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A literal percent sign.
  }
}
