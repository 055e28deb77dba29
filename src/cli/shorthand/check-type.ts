import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { checkTypes } from '@picket/checks/index.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { nearestName } from '@picket/lib/names/nearest-name.ts';

/** Other names of check types, in capitals and without punctuation. HTTP is decided by the other fields. */
const aliases: Readonly<Record<string, string>> = {
  ...{ REST: 'API', GRAPHQL: 'API', WEBSITE: 'URL', WEB: 'URL' },
  ...{ PING: 'ICMP', TLS: 'SSL', CERTIFICATE: 'SSL', CERT: 'SSL' },
  ...{ WS: 'WEBSOCKET', WSS: 'WEBSOCKET', TRACE: 'TRACEROUTE', PORT: 'TCP' },
  ...{ MULTISTEP: 'MULTI_STEP', SUITE: 'PLAYWRIGHT', CRON: 'HEARTBEAT', PUSH: 'HEARTBEAT' },
};
const httpNames: ReadonlySet<string> = new Set(['HTTP', 'HTTPS', 'HTTPCHECK', 'URLORAPI']);
/** Fields that only API checks have, among those of a request. */
const apiFields = ['body', 'json', 'headers', 'queryParameters', 'params', 'basicAuth', 'auth'];

/** The check type that `checkType` or `type` names, in any spelling; absent, the one that the URL shows. */
export function writtenType(
  fields: Readonly<Record<string, unknown>>,
): { readonly type: CheckType } | { readonly problem: string } {
  const written = fields['checkType'] ?? fields['type'] ?? schemeOf(fields);
  const known = checkTypes.map(({ name }) => name);
  if (typeof written !== 'string') return { problem: `checkType: is required; one of [${known.join(', ')}]` };
  const bare = bareName(written);
  const name = httpNames.has(bare) ? (needsApi(fields) ? 'API' : 'URL') : (aliases[bare] ?? bare);
  const type = checkTypes.find((one) => bareName(one.name) === bareName(name));
  if (type) return { type };
  const nearest = nearestName(written, known);
  const meant = nearest === undefined ? '' : `; did you mean "${nearest}"?`;
  return { problem: `checkType: must be one of [${known.join(', ')}]${meant}` };
}

function bareName(name: string): string {
  return name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '');
}

function schemeOf(fields: Readonly<Record<string, unknown>>): string | undefined {
  const url = fields['url'] ?? requestOf(fields)['url'];
  const [, scheme] = /^(https?|wss?):\/\//i.exec(typeof url === 'string' ? url : '') ?? [];
  return scheme;
}

function needsApi(fields: Readonly<Record<string, unknown>>): boolean {
  const request = { ...fields, ...requestOf(fields) };
  const method = request['method'] ?? 'GET';
  if (apiFields.some((name) => Object.hasOwn(request, name)) || String(method).toUpperCase() !== 'GET')
    return true;
  const judged = JSON.stringify([request['assertions'] ?? [], request['expect'] ?? {}]);
  return /body|json|header|time|\$[.[]/i.test(judged);
}

function requestOf(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return isRecord(fields['request']) ? fields['request'] : {};
}
