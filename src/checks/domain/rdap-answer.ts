import { isRecord } from '@picket/lib/json/record.ts';
import type { DomainRegistration } from './detail.ts';

/** A registration, and the address of the registrar's own answer if the registry gives one. */
export interface RdapAnswer {
  readonly registration: DomainRegistration;
  readonly registrarUrl: string | null;
  /** Dates of expiry that cannot be read. */
  readonly oddDates: readonly string[];
}

const maxItems = 50;
const maxTextLength = 200;

/**
 * Reads an answer about a domain (RFC 9083 section 5.3).
 *
 * @returns undefined if it is not one, or is about another domain.
 */
export function readRdapAnswer(document: unknown, domain: string): RdapAnswer | undefined {
  if (!isRecord(document) || document['objectClassName'] !== 'domain') return undefined;
  const name = textOf(document['ldhName'])?.toLowerCase().replace(/\.$/, '');
  if (name !== undefined && name !== domain) return undefined;
  const events = records(document['events']).map(({ eventAction, eventDate }) => ({
    action: textOf(eventAction)?.toLowerCase() ?? '',
    written: textOf(eventDate) ?? '',
    atMs: dateMs(textOf(eventDate) ?? ''),
  }));
  const expiries = events.filter(({ action }) => action === 'expiration');
  const { secureDNS } = document;
  const isSigned = isRecord(secureDNS) ? secureDNS['delegationSigned'] : undefined;
  return {
    registration: {
      domain,
      // Of several dates, the first one matters.
      expiresAt: isoOf(earliest(expiries)),
      registeredAt: isoOf(earliest(events.filter(({ action }) => action === 'registration'))),
      changedAt: isoOf(latest(events.filter(({ action }) => action === 'last changed'))),
      registrar: registrarOf(document['entities']),
      statuses: texts(document['status']),
      nameServers: records(document['nameservers'])
        .flatMap(({ ldhName }) => textOf(ldhName) ?? [])
        .map((one) => one.toLowerCase().replace(/\.$/, ''))
        .sort(),
      isSigned: typeof isSigned === 'boolean' ? isSigned : null,
    },
    registrarUrl: registrarUrlIn(document['links']),
    oddDates: expiries.flatMap(({ atMs, written }) => (atMs === undefined ? [written] : [])),
  };
}

/** RFC 3339, and what registries write in its place: a blank, no zone, no time. */
const date =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?\s*(Z|z|UTC|[+-]\d{2}:?\d{2})?)?$/;

/** Reads a date; without a zone it is in UTC. @returns epoch milliseconds; undefined for any other text. */
export function dateMs(text: string): number | undefined {
  const found = date.exec(text.trim());
  if (!found) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const atMs = Date.UTC(year, month - 1, day, hour, minute, Math.min(second, 59));
  const read = new Date(atMs);
  const isReal =
    read.getUTCMonth() === month - 1 && read.getUTCDate() === day && hour < 24 && minute < 60 && second < 61;
  if (!isReal) return undefined;
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(found[7] ?? '') ?? [];
  const zoneMs = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
  return atMs - (sign === '-' ? -zoneMs : zoneMs);
}

interface Dated {
  readonly atMs: number | undefined;
}

function earliest(events: readonly Dated[]): number | undefined {
  const times = events.flatMap(({ atMs }) => atMs ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

function latest(events: readonly Dated[]): number | undefined {
  const times = events.flatMap(({ atMs }) => atMs ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

function isoOf(atMs: number | undefined): string | null {
  return atMs === undefined ? null : new Date(atMs).toISOString();
}

/** The name in the vCard of the entity with that role (RFC 7095), or its handle. */
function registrarOf(entities: unknown): string | null {
  const registrar = records(entities).find(({ roles }) => texts(roles).includes('registrar'));
  if (!registrar) return null;
  const card = registrar['vcardArray'];
  const properties: unknown[] =
    Array.isArray(card) && Array.isArray(card[1]) ? card[1].slice(0, maxItems) : [];
  const name = properties.find((one): one is unknown[] => Array.isArray(one) && one[0] === 'fn');
  return textOf(name?.[3]) || textOf(registrar['handle']) || null;
}

/** The registrar's answer about the same domain, which a thin registry links to. */
function registrarUrlIn(links: unknown): string | null {
  const link = records(links).find(
    ({ rel, type }) => rel === 'related' && (type === 'application/rdap+json' || type === undefined),
  );
  const url = typeof link?.['href'] === 'string' ? URL.parse(link['href']) : null;
  return url && /^https?:$/.test(url.protocol) ? url.href : null;
}

function records(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.slice(0, maxItems).filter(isRecord) : [];
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.slice(0, maxItems).flatMap((one) => textOf(one) ?? []) : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value.trim().slice(0, maxTextLength) : undefined;
}
