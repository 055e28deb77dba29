import type { Fields } from '../../project/project.ts';
import {
  type Assertion,
  anyStatus,
  Collection,
  frequencyOf,
  type Imported,
  type ImportOptions,
} from '../collection.ts';
import { secondsOf } from '../go-formats.ts';
import { Source } from '../source.ts';
import { handshakeRequest, stillJudged } from '../starttls.ts';
import { GatusAlerting } from './alerting.ts';
import { type Placeholders, readCondition } from './conditions.ts';
import { addMaintenance } from './maintenance.ts';

const ofServer = 'it is a setting of the Gatus server, which no check has';
const serverKeys = [
  ...['debug', 'metrics', 'storage', 'security', 'concurrency', 'disable-monitoring-lock', 'web', 'ui'],
  ...['skip-invalid-config-update', 'connectivity', 'remote', 'tunneling', 'announcements'],
];

/** The configuration of Gatus, whole, as YAML reads it. */
export function importGatus(configuration: unknown, options: ImportOptions): Imported {
  const collection = new Collection(options);
  const root = new Source(configuration, '', collection.losses);
  for (const key of serverKeys) if (root.keys.includes(key)) root.lose(key, ofServer);
  if (root.keys.includes('suites')) {
    root.lose('suites', 'steps that share values are a multi-step check, whose script has to be written');
  }
  const alerting = new GatusAlerting(collection, root.child('alerting'));
  for (const endpoint of root.children('endpoints')) addEndpoint(collection, alerting, endpoint);
  for (const external of root.children('external-endpoints')) addExternal(collection, alerting, external);
  if (root.keys.includes('maintenance')) addMaintenance(collection, root.child('maintenance'));
  alerting.finishAlerts();
  alerting.finish();
  root.finish();
  return collection.finish();
}

function common(collection: Collection, alerting: GatusAlerting, source: Source): Fields {
  const group = source.text('group');
  const isEnabled = source.flag('enabled') ?? true;
  const labels = source.take('extra-labels');
  if (labels !== undefined) source.note('extra-labels', 'labels become tags "name:value"');
  const tags = Object.entries((labels ?? {}) as Fields).map(([name, value]) => `${name}:${value}`);
  return {
    name: source.text('name') ?? 'unnamed',
    ...(isEnabled ? {} : { activated: false }),
    ...(group ? { group: collection.once('groups', group, () => ({ name: group })) } : {}),
    ...(tags.length > 0 ? { tags } : {}),
    ...alerting.settingsOf(source),
  };
}

function addEndpoint(collection: Collection, alerting: GatusAlerting, endpoint: Source): void {
  const url = endpoint.text('url') ?? '';
  const target = endpoint.peek('dns') === undefined ? targetOf(endpoint, url) : dnsTarget(endpoint, url);
  if ('lost' in target) {
    endpoint.lose('', target.lost);
    endpoint.skip(...endpoint.keys);
    return;
  }
  const base = common(collection, alerting, endpoint);
  const { checkType } = target;
  const seconds = intervalOf(endpoint);
  const { fields: frequency, seconds: carried } = frequencyOf(checkType, seconds);
  if (carried !== seconds)
    endpoint.note('interval', `checks of this type run every ${carried} seconds instead`);
  const assertions = assertionsOf(endpoint, target);
  const client = clientOf(endpoint.child('client'), target);
  collection.add('checks', String(base['name']), {
    checkType,
    ...base,
    ...frequency,
    doubleCheck: false,
    ...(assertions.isFailure ? { shouldFail: true } : {}),
    privateLocations: [collection.location],
    ...client.fields,
    // Gatus has no limits of its own.
    degradedResponseTime: null,
    request: {
      ...target.request,
      ...client.request,
      ...(assertions.list.length > 0 ? { assertions: assertions.list } : {}),
      ...requestOf(collection, endpoint, target, String(base['name'])),
    },
  });
}

function intervalOf(endpoint: Source): number {
  const text = endpoint.text('interval');
  const seconds = text === undefined ? 60 : secondsOf(text);
  if (seconds === undefined) endpoint.note('interval', 'it is no duration: every 60 seconds instead');
  return seconds ?? 60;
}

const connection: Target['connection'] = {
  certificateDays: { source: 'CONNECTION', property: 'certificateDaysRemaining' },
  address: { source: 'CONNECTION', property: 'ipAddress' },
};
const handshake: Target['connection'] = {
  certificateDays: { source: 'CERTIFICATE', property: 'daysUntilExpiry' },
  address: { source: 'CONNECTION', property: 'resolvedIp' },
};

interface Target extends Placeholders {
  readonly request: Fields;
}

const hostAndPort = /^\[?([^\]/]+?)\]?:(\d+)\/?$/;

function targetOf(endpoint: Source, url: string): Target | { readonly lost: string } {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/i.exec(url) ?? [];
  const time = { source: 'RESPONSE_TIME' };
  switch (scheme.toLowerCase()) {
    case 'http':
    case 'https':
      return {
        checkType: 'API',
        request: { url },
        body: { source: 'TEXT_BODY' },
        json: true,
        time,
        connection,
      };
    case 'tcp':
    case 'tls': {
      const [, hostname = '', port = ''] = hostAndPort.exec(rest) ?? [];
      if (port === '') return { lost: 'a TCP endpoint needs a port' };
      const useSSL = scheme.toLowerCase() === 'tls' ? { useSSL: true } : {};
      const data = endpoint.peek('body') ? { data: endpoint.text('body') } : {};
      const request = { hostname, port: Number(port), ...useSSL, ...data };
      return {
        checkType: 'TCP',
        request,
        body: { source: 'RESPONSE_DATA' },
        json: false,
        time,
        connection,
      };
    }
    case 'starttls': {
      const [, hostname = '', port = ''] = hostAndPort.exec(rest) ?? [];
      if (port === '') return { lost: 'a STARTTLS endpoint needs a port' };
      // Gatus speaks SMTP there.
      const request = handshakeRequest({ hostname, port: Number(port), startTls: 'smtp' });
      return { checkType: 'SSL', request, body: undefined, json: false, time, connection: handshake };
    }
    case 'icmp': {
      const request = { hostname: rest.replace(/\/$/, ''), pingCount: 1 };
      const latency = { source: 'LATENCY', property: 'avg' };
      return {
        checkType: 'ICMP',
        request,
        body: undefined,
        json: false,
        time: latency,
        connection: undefined,
      };
    }
    default:
      return {
        lost: `Picket has no check for ${scheme === '' ? 'an address without a scheme' : `${scheme}://`}`,
      };
  }
}

function dnsTarget(endpoint: Source, url: string): Target {
  const dns = endpoint.child('dns');
  const [, nameServer = url, port = '53'] = /^\[?([^\]]+?)\]?(?::(\d+))?$/.exec(url) ?? [];
  const request = {
    query: dns.text('query-name') ?? '',
    recordType: dns.text('query-type') ?? 'A',
    nameServer,
    port: Number(port),
  };
  const time = { source: 'RESPONSE_TIME' };
  return {
    checkType: 'DNS',
    request,
    body: { source: 'TEXT_ANSWER' },
    json: false,
    time,
    connection: undefined,
  };
}

function assertionsOf(
  endpoint: Source,
  target: Target,
): { readonly list: Assertion[]; readonly isFailure: boolean } {
  const list: Assertion[] = [];
  let isFailure = false;
  let isStatusRead = false;
  for (const [index, text] of endpoint.list('conditions').map(String).entries()) {
    const condition = readCondition(text, target);
    isStatusRead ||= text.includes('[STATUS]');
    if ('lost' in condition) endpoint.note(`conditions.${index}`, `${text}: ${condition.lost}`);
    else if ('isFailure' in condition) isFailure = true;
    else list.push(...condition.assertions);
  }
  if (target.checkType === 'API' && !isStatusRead) list.unshift(anyStatus);
  return { list, isFailure };
}

function requestOf(collection: Collection, endpoint: Source, { checkType }: Target, name: string): Fields {
  if (checkType !== 'API') {
    for (const key of ['method', 'headers', 'graphql', 'body']) {
      if (endpoint.peek(key) && !(checkType === 'TCP' && key === 'body')) {
        endpoint.lose(key, `checks of type ${checkType} have none`);
      }
    }
    return {};
  }
  const body = endpoint.text('body');
  const isGraphql = endpoint.flag('graphql') ?? false;
  if (body && /\[(ENDPOINT_|LOCAL_ADDRESS|RANDOM_STRING)/.test(body)) {
    endpoint.note('body', 'its placeholders are sent as they are written');
  }
  const headers = Object.entries((endpoint.take('headers') ?? {}) as Fields).map(([key, value]) => {
    const isSecret = /authorization|token|key|secret|cookie/i.test(key);
    return isSecret
      ? { key, value: collection.secret(`${name}_${key}`, String(value)), locked: true }
      : { key, value: String(value) };
  });
  return {
    method: endpoint.text('method')?.toUpperCase() ?? 'GET',
    ...(body === undefined ? {} : { body, bodyType: isGraphql ? 'GRAPHQL' : 'RAW' }),
    ...(headers.length > 0 ? { headers } : {}),
  };
}

function clientOf(
  client: Source,
  { checkType, request: { sslConfig } }: Target,
): { readonly fields: Fields; readonly request: Fields } {
  const isHttp = checkType === 'API';
  const isSsl = checkType === 'SSL';
  const timeoutMs = (secondsOf(client.text('timeout') ?? '10s') ?? 10) * 1000;
  const most = isHttp || isSsl ? 30_000 : checkType === 'ICMP' ? 300_000 : 5_000;
  if (timeoutMs > most && client.peek('timeout')) {
    client.note('timeout', `checks of this type wait ${most} milliseconds at most`);
  }
  const own: Record<string, unknown> = {};
  if (isHttp || isSsl || checkType === 'TCP') {
    const isInsecure = client.flag('insecure') ?? false;
    if (isInsecure) own[isSsl ? 'skipChainValidation' : 'skipSSL'] = true;
    if (isInsecure && isSsl) client.note('insecure', stillJudged);
    const family = client.text('network');
    if (family === 'ip6') own['ipFamily'] = 'IPv6';
    else if (family !== undefined && family !== 'ip')
      client.note('network', 'IPv4 goes first, and IPv6 where there is none');
  }
  if (isHttp && client.flag('ignore-redirect')) own['followRedirects'] = false;
  const reasons: Readonly<Record<string, string>> = {
    'proxy-url': 'a proxy is a setting of the private location',
    tls: 'client certificates are set for hosts: POST /v1/client-certificates',
    oauth2: 'a setup script can fetch the token',
    'dns-resolver': 'names are resolved where the agent runs',
  };
  for (const [key, reason] of Object.entries(reasons)) if (client.peek(key)) client.lose(key, reason);
  const request = isSsl ? { sslConfig: { ...(sslConfig as Fields), ...own } } : own;
  return { fields: { maxResponseTime: Math.min(timeoutMs, most) }, request };
}

function addExternal(collection: Collection, alerting: GatusAlerting, external: Source): void {
  const base = common(collection, alerting, external);
  const heartbeat = external.child('heartbeat');
  const seconds = secondsOf(heartbeat.text('interval') ?? '') ?? 0;
  external.lose('token', 'pings go to an address of their own, which the deployed check shows');
  if (seconds === 0) {
    external.lose('', 'without a heartbeat interval nothing is expected, so there is nothing to check');
    external.skip(...external.keys);
    return;
  }
  const period = Math.max(seconds, 30);
  if (period !== seconds) heartbeat.note('interval', 'a ping is expected every 30 seconds at most');
  collection.add('checks', String(base['name']), {
    checkType: 'HEARTBEAT',
    ...base,
    heartbeat: { period, periodUnit: 'seconds', grace: 0, graceUnit: 'seconds' },
  });
}
