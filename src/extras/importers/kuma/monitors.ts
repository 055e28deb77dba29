import { recordTypes } from '@picket/lib/dns-record-type.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';
import { type Assertion, type Collection, frequencyOf, retries, statusAssertions } from '../collection.ts';
import type { Source } from '../source.ts';
import { mysql, postgres } from './databases.ts';
import type { Look } from './look.ts';

/**
 * Default values of columns, which have no effect for types that do not use them. Other columns that are not read are
 * reported as lost.
 */
const usual: Readonly<Record<string, readonly unknown[]>> = {
  method: ['GET'],
  maxredirects: [10],
  accepted_statuscodes_json: ['["200-299"]', ['200-299']],
  packet_size: [56],
  http_body_encoding: ['json'],
  auth_method: ['none'],
  dns_resolve_type: ['A'],
  dns_resolve_server: ['1.1.1.1'],
  json_path: ['$'],
  json_path_operator: ['=='],
  conditions: ['[]'],
  gamedig_given_port_only: [1, true],
  expiry_notification: [1, true],
  domain_expiry_notification: [1, true],
  kafka_producer_brokers: ['[]'],
  kafka_producer_sasl_options: ['{"mechanism":"None"}', { mechanism: 'None' }],
  kafka_producer_message: ['{}'],
  rabbitmq_nodes: ['[]'],
  snmp_version: ['2c'],
  mqtt_check_type: ['keyword'],
  ping_count: [1],
  ping_numeric: [1, true],
  ping_per_request_timeout: [2],
  oauth_auth_method: ['client_secret_basic'],
  response_max_length: [1024],
  grpc_metadata: ['{}'],
};

/** Converts a monitor to a check, except for references. @returns undefined if its type has no counterpart. */
export function readMonitor(monitor: Source, collection: Collection, name: string): Fields | undefined {
  const type = monitor.text('type') ?? '';
  const look = looks[type]?.(monitor, collection, name);
  if (!look) {
    monitor.lose('', `Picket has no check for monitors of type "${type}"`);
    monitor.skip(...monitor.keys);
    return undefined;
  }
  monitor.skip(
    'id',
    'user_id',
    'weight',
    'created_date',
    'dns_last_result',
    'path_name',
    'children_ids',
    'path',
  );
  const isActive = monitor.flag('active') ?? true;
  const isUpsideDown = monitor.flag('upside_down') ?? false;
  const description = monitor.text('description');
  const fields: Record<string, unknown> = {
    checkType: look.checkType,
    name,
    ...(isActive ? {} : { activated: false }),
    ...(description === undefined ? {} : { description: description.slice(0, 500) }),
    ...timing(monitor, look.checkType),
    ...look.fields,
  };
  if (description !== undefined && description.length > 500)
    monitor.note('description', 'it is cut after 500 characters');
  if (isUpsideDown && look.checkType === 'HEARTBEAT')
    monitor.note('upside_down', 'a heartbeat cannot be inverted');
  else if (isUpsideDown) fields['shouldFail'] = true;
  const seconds = monitor.number('resend_interval') ?? 0;
  if (seconds > 0)
    monitor.note(
      'resend_interval',
      'reminders come by minutes, not by failed runs: see alertSettings.reminders',
    );
  for (const [key, values] of Object.entries(usual)) {
    if (!monitor.isSeen(key)) monitor.expect(key, values, `monitors of type "${type}" do not use it`);
  }
  return fields;
}

function timing(monitor: Source, checkType: string): Fields {
  const interval = monitor.number('interval') ?? 60;
  const count = monitor.number('maxretries') ?? 0;
  const wait = monitor.number('retry_interval') || interval;
  if (checkType === 'HEARTBEAT') {
    const period = Math.max(interval, 30);
    if (period !== interval) monitor.note('interval', 'a ping is expected every 30 seconds at most');
    return {
      heartbeat: { period, periodUnit: 'seconds', grace: count * wait, graceUnit: 'seconds' },
    };
  }
  const { fields, seconds } = frequencyOf(checkType, interval);
  if (seconds !== interval)
    monitor.note('interval', `checks of this type run every ${seconds} seconds instead`);
  if (count > 10) monitor.note('maxretries', 'a run is repeated 10 times at most');
  if (count > 0 && wait > 600)
    monitor.note('retry_interval', 'a retry comes after 600 seconds at the latest');
  if (count === 0 && monitor.peek('retry_interval') && wait !== interval) {
    monitor.note('retry_interval', 'there are no retries');
  }
  return { ...fields, ...retries(count, wait) };
}

const looks: Readonly<
  Record<string, (monitor: Source, collection: Collection, name: string) => Look | undefined>
> = {
  http: (monitor, collection, name) => http(monitor, collection, name, []),
  keyword: (monitor, collection, name) => {
    const isInverted = monitor.flag('invert_keyword') ?? false;
    const comparison = isInverted ? 'NOT_CONTAINS' : 'CONTAINS';
    return http(monitor, collection, name, [
      { source: 'TEXT_BODY', comparison, target: monitor.text('keyword') ?? '' },
    ]);
  },
  'json-query': (monitor, collection, name) => http(monitor, collection, name, jsonQuery(monitor)),
  port: (monitor) => ({
    checkType: 'TCP',
    fields: {
      request: {
        hostname: monitor.text('hostname') ?? '',
        port: monitor.number('port') ?? 0,
        ...family(monitor),
      },
    },
  }),
  ping: (monitor) => {
    const size = monitor.number('packet_size');
    const numeric = monitor.flag('ping_numeric') ?? true;
    if (!numeric && monitor.peek('ping_numeric') !== undefined)
      monitor.note('ping_numeric', 'results have addresses anyway');
    return {
      checkType: 'ICMP',
      fields: {
        request: {
          hostname: monitor.text('hostname') ?? '',
          pingCount: monitor.number('ping_count') ?? 1,
          ...(size === undefined ? {} : { packetSize: Math.max(size + 8, 16) }),
          ...family(monitor),
        },
      },
    };
  },
  dns: (monitor) => {
    const recordType = monitor.text('dns_resolve_type') ?? 'A';
    if (!recordTypes.some((one) => one === recordType)) return undefined;
    const servers = (monitor.text('dns_resolve_server') ?? '').split(',').map((one) => one.trim());
    const [nameServer, ...others] = servers.filter((one) => one !== '');
    const port = monitor.number('port') ?? 53;
    const withPort = (server: string) => (server.includes(':') ? `[${server}]:${port}` : `${server}:${port}`);
    return {
      checkType: 'DNS',
      fields: {
        request: {
          query: monitor.text('hostname') ?? '',
          recordType,
          // One that answers suffices there.
          ...(nameServer !== undefined && others.length > 0
            ? { nameServers: [nameServer, ...others].slice(0, 8).map(withPort), serversToPass: 'ANY' }
            : { nameServer: nameServer ?? '1.1.1.1', port }),
        },
      },
    };
  },
  postgres,
  mysql,
  push: (monitor) => {
    if (monitor.peek('push_token')) {
      monitor.lose('push_token', 'pings go to an address of their own, which the deployed check shows');
    }
    return { checkType: 'HEARTBEAT', fields: {} };
  },
};

function http(monitor: Source, collection: Collection, name: string, more: readonly Assertion[]): Look {
  const body = monitor.text('body');
  const encoding = monitor.text('http_body_encoding') ?? 'json';
  const redirects = monitor.number('maxredirects') ?? 0;
  if (redirects > 0 && redirects !== 10)
    monitor.note('maxredirects', 'redirects are followed, or not: up to 10');
  if (monitor.flag('cache_bust'))
    monitor.note('cache_bust', 'a query parameter {{$RANDOM_NUMBER}} does the same');
  if (body === undefined && encoding !== 'json') monitor.note('http_body_encoding', 'there is no body');
  const headers = headersOf(monitor, collection, name);
  const isXml = encoding === 'xml' && body !== undefined;
  const all = isXml ? [...headers, { key: 'Content-Type', value: 'text/xml; charset=utf-8' }] : headers;
  const bodyType = { json: 'JSON', form: 'FORM' }[encoding] ?? 'RAW';
  const timeout = monitor.number('timeout') ?? 0;
  if (timeout > 30) monitor.note('timeout', 'a request may take 30 seconds');
  return {
    checkType: 'API',
    fields: {
      // Uptime Kuma has no limit below the timeout.
      degradedResponseTime: null,
      ...(timeout > 0 ? { maxResponseTime: Math.min(timeout, 30) * 1000 } : {}),
      request: {
        url: monitor.text('url') ?? '',
        method: monitor.text('method')?.toUpperCase() ?? 'GET',
        ...(redirects === 0 ? { followRedirects: false } : {}),
        ...(monitor.flag('ignore_tls') ? { skipSSL: true } : {}),
        ...(body === undefined ? {} : { body, bodyType }),
        ...(all.length > 0 ? { headers: all } : {}),
        assertions: [...statuses(monitor), ...more],
        ...credentials(monitor, collection, name),
        ...family(monitor),
      },
    },
  };
}

function statuses(monitor: Source): readonly Assertion[] {
  const written = monitor.take('accepted_statuscodes_json');
  const list = listOf(written);
  if (list.length === 0 && typeof written === 'string' && !/^(\[\s*\])?$/.test(written)) {
    monitor.note('accepted_statuscodes_json', 'it is not a list: codes from 200 to 299 pass');
  }
  const ranges = list.map((one) => {
    const [first = Number.NaN, last = first] = String(one).split('-').map(Number);
    return [first, last] as const;
  });
  if (ranges.some(([first, last]) => !Number.isFinite(first) || !Number.isFinite(last))) {
    monitor.note('accepted_statuscodes_json', 'it has invalid status codes');
    return [];
  }
  const exact = statusAssertions(ranges.length === 0 ? [[200, 299]] : ranges);
  if (exact) return exact;
  const [first, last] = [Math.min(...ranges.map(([from]) => from)), Math.max(...ranges.map(([, to]) => to))];
  monitor.note(
    'accepted_statuscodes_json',
    `assertions cannot match "one of several": any code from ${first} to ${last} passes`,
  );
  return statusAssertions([[first, last]]) ?? [];
}

function jsonQuery(monitor: Source): Assertion[] {
  const path = monitor.text('json_path') ?? '$';
  const operator = monitor.text('json_path_operator') ?? '==';
  const target = monitor.text('expected_value') ?? '';
  const comparisons: Readonly<Record<string, string>> = {
    ...{ '==': 'EQUALS', '!=': 'NOT_EQUALS', '<': 'LESS_THAN', '>': 'GREATER_THAN', contains: 'CONTAINS' },
  };
  const comparison = comparisons[operator];
  const isPlain = /^\$?(\.?[A-Za-z_]\w*(\[\d+\])*)*$/.test(path);
  if (!isPlain || !comparison) {
    for (const field of ['json_path', 'json_path_operator', 'expected_value']) {
      if (!monitor.peek(field)) continue;
      monitor.note(
        field,
        'assertions support JSON paths and comparisons with one value: this one is omitted',
      );
    }
    return [];
  }
  const property = path.startsWith('$') ? path : `$.${path}`;
  return [{ source: 'JSON_BODY', property, comparison, target }];
}

function headersOf(monitor: Source, collection: Collection, name: string): Fields[] {
  const text = monitor.text('headers');
  if (text === undefined) return [];
  let headers: unknown;
  try {
    headers = JSON.parse(text);
  } catch {
    monitor.note('headers', 'they are not JSON');
    return [];
  }
  return Object.entries((headers ?? {}) as Fields).map(([key, value]) =>
    /authorization|token|key|secret|cookie/i.test(key)
      ? { key, value: collection.secret(`${name}_${key}`, String(value)), locked: true }
      : { key, value: String(value) },
  );
}

function credentials(monitor: Source, collection: Collection, name: string): Fields {
  const method = monitor.text('auth_method') ?? 'basic';
  const user = monitor.text('basic_auth_user');
  const password = monitor.text('basic_auth_pass');
  if (!['basic', 'ntlm', 'none'].includes(method)) {
    const reasons: Readonly<Record<string, string>> = {
      'oauth2-cc': 'a setup script can fetch the token',
      mtls: 'client certificates are set for hosts: POST /v1/client-certificates',
    };
    monitor.note('auth_method', reasons[method] ?? `Picket does not support authentication by ${method}`);
  }
  if (user === undefined && password === undefined) return {};
  if (method !== 'basic' && method !== 'ntlm') {
    const reason = 'only users of Basic and NTLM are carried over';
    monitor.note('basic_auth_user', reason);
    if (password !== undefined) monitor.note('basic_auth_pass', reason);
    return {};
  }
  const login = {
    username: user ?? '',
    password: password === undefined ? '' : collection.secret(`${name}_password`, password),
  };
  if (method === 'basic') return { basicAuth: login };
  if (monitor.text('auth_workstation') !== undefined) {
    monitor.note('auth_workstation', 'Picket names no workstation');
  }
  return { auth: { type: 'NTLM', ...login, domain: monitor.text('auth_domain') ?? '' } };
}

function family(monitor: Source): Fields {
  const text = monitor.text('ip_family')?.toLowerCase();
  if (text === undefined || text === 'ipv4') return {};
  if (text === 'ipv6') return { ipFamily: 'IPv6' };
  monitor.note('ip_family', 'IPv4 is preferred, with IPv6 as the fallback');
  return {};
}

/** Lists are JSON texts in the database, and lists in backups. */
export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  try {
    const read: unknown = JSON.parse(String(value));
    return Array.isArray(read) ? read : [];
  } catch {
    return [];
  }
}
