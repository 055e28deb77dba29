import { isRecord } from '@picket/lib/json/record.ts';
import type { z } from 'zod';
import { shapeOf } from './schema-shape.ts';

/** Names that people use for fields, each with the fields it may stand for: the first that the type has. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  host: ['hostname', 'url', 'query'],
  hostname: ['hostname', 'url', 'query'],
  address: ['hostname', 'url', 'query'],
  domain: ['query', 'hostname', 'url'],
  server: ['nameServer', 'hostname', 'url'],
  nameserver: ['nameServer'],
  resolver: ['nameServer'],
  nameservers: ['nameServers'],
  resolvers: ['nameServers'],
  servers: ['nameServers'],
  uri: ['url'],
  endpoint: ['url'],
  record: ['recordType'],
  count: ['pingCount'],
  packets: ['pingCount'],
  size: ['packetSize'],
  params: ['queryParameters'],
  query: ['query', 'queryParameters'],
  auth: ['basicAuth'],
  json: ['body'],
  send: ['data', 'message'],
  payload: ['body', 'data', 'message'],
  code: ['script'],
  path: ['codeBundlePath'],
  folder: ['codeBundlePath'],
  expiry: ['alertDaysBeforeExpiry'],
  expiryDays: ['alertDaysBeforeExpiry'],
  daysBeforeExpiry: ['alertDaysBeforeExpiry'],
  tls: ['useSSL', 'tls'],
  ssl: ['useSSL', 'tls'],
  insecure: ['skipSSL', 'skipChainValidation'],
  interval: ['period', 'frequency'],
  every: ['period', 'frequency'],
  timeout: ['timeout', 'maxResponseTime'],
  enabled: ['activated'],
  env: ['environmentVariables'],
  environment: ['environmentVariables'],
  variables: ['environmentVariables'],
  tag: ['tags'],
  location: ['locations'],
};

/** Names that mean different units to different people, with an example that has one. A bare number is refused. */
const needUnits: Readonly<Record<string, string>> = { interval: '5m', every: '5m', timeout: '5s' };

/** Fields that hold what a check does; names are looked for inside them. */
const ownObjects: ReadonlySet<string> = new Set(['request', 'heartbeat']);
/** Objects whose fields may stand at the top. */
const openObjects: ReadonlySet<string> = new Set([...ownObjects, 'schedule']);

type Path = readonly string[];

/**
 * The fields with their full names at their places: `host` becomes `request.hostname` where the type has that. A name
 * that the schema knows at its place stays.
 *
 * @returns problems for two values of one field, and for numbers without a unit. Unknown names stay, for the check of the schema.
 */
export function withFullNames(
  schema: z.ZodType,
  written: Readonly<Record<string, unknown>>,
): { readonly fields: Record<string, unknown>; readonly problems: readonly string[] } {
  const places = placesIn(schema);
  const fields: Record<string, unknown> = {};
  const problems: string[] = [];
  const put = (path: Path, value: unknown, from: Path) => {
    const isKnown = schemaAt(schema, path) !== undefined;
    const isMovable = !isKnown && (path.length === 1 || ownObjects.has(path[0] ?? ''));
    const place = (isMovable ? placeOf(places, path.at(-1) ?? '') : undefined) ?? path;
    if (isRecord(value) && isPlainObject(value) && Object.keys(shapeOf(schemaAt(schema, place))).length > 0) {
      at(fields, place);
      for (const [key, child] of Object.entries(value)) put([...place, key], child, [...from, key]);
      return;
    }
    const owner = at(fields, place.slice(0, -1));
    const name = String(place.at(-1));
    const written = String(path.at(-1));
    const example = Object.hasOwn(needUnits, written) && written !== name ? needUnits[written] : undefined;
    if (example !== undefined && /^\d+(\.\d+)?$/.test(String(value)))
      problems.push(`${from.join('.')}: needs a unit, such as "${written}: ${example}"`);
    else if (name === '__proto__') problems.push(`${from.join('.')}: unknown field`);
    else if (Object.hasOwn(owner, name))
      problems.push(`${from.join('.')}: is a second value for ${place.join('.')}`);
    else owner[name] = value;
  };
  for (const [key, value] of Object.entries(written)) put([key], value, [key]);
  return { fields, problems };
}

/** Objects that YAML made; values with a class, such as `!env`, are left alone. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && Object.getPrototypeOf(value) === Object.prototype;
}

function at(fields: Record<string, unknown>, path: Path): Record<string, unknown> {
  let owner = fields;
  for (const name of path) {
    if (!isRecord(owner[name])) owner[name] = {};
    owner = owner[name] as Record<string, unknown>;
  }
  return owner;
}

function schemaAt(schema: z.ZodType, path: Path): z.ZodType | undefined {
  let found: z.ZodType | undefined = schema;
  for (const name of path) found = Object.hasOwn(shapeOf(found), name) ? shapeOf(found)[name] : undefined;
  return found;
}

/** The places of all names in objects of the type's own, those higher up first. */
function placesIn(schema: z.ZodType): ReadonlyMap<string, Path> {
  const places = new Map<string, Path>();
  const open: Path[] = [[]];
  for (let path = open.shift(); path; path = open.shift()) {
    for (const [name, child] of Object.entries(
      shapeOf(path.length === 0 ? schema : schemaAt(schema, path)),
    )) {
      const place = [...path, name];
      if (!places.has(name)) places.set(name, place);
      const isOwn = path.length > 0 || openObjects.has(name);
      if (isOwn && Object.keys(shapeOf(child)).length > 0) open.push(place);
    }
  }
  return places;
}

function placeOf(places: ReadonlyMap<string, Path>, name: string): Path | undefined {
  const known = [name, ...(Object.hasOwn(aliases, name) ? (aliases[name] ?? []) : [])].find((one) =>
    places.has(one),
  );
  if (known !== undefined) return places.get(known);
  return [...places].find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1];
}
