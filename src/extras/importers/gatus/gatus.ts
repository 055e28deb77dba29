import type { Fields } from '@picket/protocol/projects/kind.ts';
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
import { GatusAlerting } from './alerting.ts';
import { readCondition } from './conditions.ts';
import { addMaintenance } from './maintenance.ts';
import { dnsTarget, type Target, targetOf } from './targets.ts';

const ofServer = 'it is a setting of the Gatus server that checks do not have';
const serverKeys = [
  ...['debug', 'metrics', 'storage', 'security', 'concurrency', 'disable-monitoring-lock', 'web', 'ui'],
  ...['skip-invalid-config-update', 'connectivity', 'remote', 'tunneling', 'announcements'],
];

/** Imports a complete Gatus configuration, as parsed from YAML. */
export function importGatus(configuration: unknown, options: ImportOptions): Imported {
  const collection = new Collection(options);
  const root = new Source(configuration, '', collection.losses);
  for (const key of serverKeys) if (root.keys.includes(key)) root.lose(key, ofServer);
  if (root.keys.includes('suites')) {
    root.lose('suites', 'steps that share values need a multi-step check, whose script you must write');
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
    // Gatus has no response time limits.
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
  if (seconds === undefined) endpoint.note('interval', 'it is not a duration: every 60 seconds instead');
  return seconds ?? 60;
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
  const isHttp = checkType === 'API';
  const headers = isHttp || checkType === 'WEBSOCKET' ? headersOf(collection, endpoint, name) : {};
  if (!isHttp) {
    for (const key of ['method', 'headers', 'graphql', 'body']) {
      if (endpoint.peek(key) && !endpoint.isSeen(key)) {
        endpoint.lose(key, `checks of type ${checkType} have none`);
      }
    }
    return headers;
  }
  const body = endpoint.text('body');
  const isGraphql = endpoint.flag('graphql') ?? false;
  if (body && /\[(ENDPOINT_|LOCAL_ADDRESS|RANDOM_STRING)/.test(body)) {
    endpoint.note('body', 'its placeholders are sent literally');
  }
  return {
    method: endpoint.text('method')?.toUpperCase() ?? 'GET',
    ...(body === undefined ? {} : { body, bodyType: isGraphql ? 'GRAPHQL' : 'RAW' }),
    ...headers,
  };
}

function headersOf(collection: Collection, endpoint: Source, name: string): Fields {
  const headers = Object.entries((endpoint.take('headers') ?? {}) as Fields).map(([key, value]) => {
    const isSecret = /authorization|token|key|secret|cookie/i.test(key);
    return isSecret
      ? { key, value: collection.secret(`${name}_${key}`, String(value)), locked: true }
      : { key, value: String(value) };
  });
  return headers.length > 0 ? { headers } : {};
}

/** Types that connect to one address of a name, over IPv4 or IPv6. */
const addressed = new Set(['API', 'SSL', 'TCP', 'UDP', 'WEBSOCKET', 'GRPC']);

function clientOf(
  client: Source,
  { checkType, mostMs, request: { sslConfig } }: Target,
): { readonly fields: Fields; readonly request: Fields } {
  const isSsl = checkType === 'SSL';
  const timeoutMs = (secondsOf(client.text('timeout') ?? '10s') ?? 10) * 1000;
  if (timeoutMs > mostMs && client.peek('timeout')) {
    client.note('timeout', `checks of this type wait ${mostMs} milliseconds at most`);
  }
  const own: Record<string, unknown> = {};
  if (addressed.has(checkType)) {
    const isInsecure = checkType !== 'UDP' && (client.flag('insecure') ?? false);
    if (isInsecure) own[isSsl ? 'skipChainValidation' : 'skipSSL'] = true;
    if (isInsecure && isSsl) {
      client.note(
        'insecure',
        'any authority is accepted; the name and dates of the certificate are still verified',
      );
    }
    const family = client.text('network');
    if (family === 'ip6') own['ipFamily'] = 'IPv6';
    else if (family !== undefined && family !== 'ip')
      client.note('network', 'IPv4 is preferred, with IPv6 as the fallback');
  }
  if (checkType === 'API' && client.flag('ignore-redirect')) own['followRedirects'] = false;
  const reasons: Readonly<Record<string, string>> = {
    'proxy-url': 'a proxy is a setting of the private location',
    tls: 'client certificates are set for hosts: POST /v1/client-certificates',
    oauth2: 'a setup script can fetch the token',
    'dns-resolver': 'the agent resolves names',
  };
  for (const [key, reason] of Object.entries(reasons)) if (client.peek(key)) client.lose(key, reason);
  const request = isSsl ? { sslConfig: { ...(sslConfig as Fields), ...own } } : own;
  return { fields: { maxResponseTime: Math.min(timeoutMs, mostMs) }, request };
}

function addExternal(collection: Collection, alerting: GatusAlerting, external: Source): void {
  const base = common(collection, alerting, external);
  const heartbeat = external.child('heartbeat');
  const seconds = secondsOf(heartbeat.text('interval') ?? '') ?? 0;
  external.lose('token', 'pings go to an address of their own, which the deployed check shows');
  if (seconds === 0) {
    external.lose('', 'without a heartbeat interval there is nothing to check');
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
