import type { Fields } from '@picket/protocol/projects/kind.ts';
import { type Assertion, type Collection, statusAssertions } from '../collection.ts';
import { wholeMatch } from '../go-formats.ts';
import type { Source } from '../source.ts';

/** The part of a check that depends only on the module, not on the target. */
export interface Probe {
  readonly checkType: 'API' | 'TCP' | 'GRPC' | 'DNS' | 'ICMP';
  readonly request: Fields;
  /** Maximum timeout of its type, in milliseconds. */
  readonly mostMs: number;
  readonly hasFamily: boolean;
}

/** Converts an `http` prober to a check. */
export function readHttp(http: Source, collection: Collection, name: string): Probe {
  const tls = http.child('tls_config');
  const assertions: Assertion[] = [
    ...statuses(http),
    ...bodies(http),
    ...headersAssertions(http),
    ...encryption(http, tls),
    ...versions(http),
  ];
  const headers = [...requestHeaders(http, collection, name)];
  const basicAuth = http.child('basic_auth');
  const username = basicAuth.text('username');
  const password = basicAuth.text('password');
  const body = http.text('body');
  const isRedirected = http.flag('follow_redirects') ?? !(http.flag('no_follow_redirects') ?? false);
  if (http.flag('enable_http2')) http.note('enable_http2', 'agents speak HTTP/1.1');
  const request: Record<string, unknown> = {
    method: http.text('method')?.toUpperCase() ?? 'GET',
    ...(isRedirected ? {} : { followRedirects: false }),
    ...(body === undefined ? {} : { body, bodyType: 'RAW' }),
    ...(headers.length > 0 ? { headers } : {}),
    ...(assertions.length > 0 ? { assertions } : {}),
    ...(username === undefined && password === undefined
      ? {}
      : {
          basicAuth: {
            username: username ?? '',
            password: password === undefined ? '' : collection.secret(`${name}_password`, password),
          },
        }),
    ...tlsFields(tls),
  };
  if (http.peek('proxy_url')) http.lose('proxy_url', 'a proxy is a setting of the private location');
  return { checkType: 'API', request, mostMs: 30_000, hasFamily: true };
}

/** TLS fields of a request. */
export function tlsFields(tls: Source): Fields {
  const serverName = tls.text('server_name');
  const isUnverified = tls.flag('insecure_skip_verify') ?? false;
  for (const key of ['cert_file', 'key_file', 'cert', 'key']) {
    if (tls.peek(key)) tls.lose(key, 'client certificates are set for hosts: POST /v1/client-certificates');
  }
  for (const key of ['ca_file', 'ca']) {
    if (tls.peek(key)) tls.lose(key, 'CA certificates are a setting of the agent (CA_CERTS_DIR)');
  }
  return { ...(serverName === undefined ? {} : { serverName }), ...(isUnverified ? { skipSSL: true } : {}) };
}

/** Converts `min_version` and `max_version`, for example TLS12. */
export function tlsVersions(tls: Source): Assertion[] {
  const of = { source: 'CONNECTION', property: 'tlsVersion' };
  return (['min_version', 'max_version'] as const).flatMap((key): Assertion[] => {
    const text = tls.text(key);
    if (text === undefined) return [];
    const [, minor = ''] = /^TLS1([0-3])$/.exec(text) ?? [];
    if (minor === '') {
      tls.note(key, 'it is not a TLS version');
      return [];
    }
    const [comparison, limit] =
      key === 'min_version'
        ? (['GREATER_THAN', Number(minor) - 0.5] as const)
        : (['LESS_THAN', Number(minor) + 0.5] as const);
    return [{ ...of, comparison, target: (1 + limit / 10).toFixed(2) }];
  });
}

function statuses(http: Source): readonly Assertion[] {
  const codes = http.list('valid_status_codes').map(Number);
  if (codes.length === 0) return statusAssertions([[200, 299]]) ?? [];
  const exact = statusAssertions(codes.map((code) => [code, code] as const));
  if (exact) return exact;
  const [first, last] = [Math.min(...codes), Math.max(...codes)];
  http.note(
    'valid_status_codes',
    `assertions cannot match "one of several values": any from ${first} to ${last} passes`,
  );
  return statusAssertions([[first, last]]) ?? [];
}

function bodies(http: Source): Assertion[] {
  const read = (key: string, comparison: string) =>
    http.list(key).flatMap((pattern, index): Assertion[] => {
      const regex = wholeMatch(String(pattern));
      if (regex !== undefined) return [{ source: 'TEXT_BODY', comparison, regex }];
      http.note(`${key}.${index}`, 'the regular expression uses syntax that JavaScript does not support');
      return [];
    });
  return [
    ...read('fail_if_body_matches_regexp', 'IS_EMPTY'),
    ...read('fail_if_body_not_matches_regexp', 'NOT_EMPTY'),
  ];
}

function headersAssertions(http: Source): Assertion[] {
  const read = (key: string, comparison: string) =>
    http.children(key).flatMap((spec): Assertion[] => {
      const property = spec.text('header') ?? '';
      const regex = wholeMatch(spec.text('regexp') ?? '');
      const mayMiss = spec.flag('allow_missing') ?? false;
      if (regex === undefined) {
        spec.note('regexp', 'the regular expression uses syntax that JavaScript does not support');
        return [];
      }
      if (comparison === 'NOT_EMPTY' && mayMiss) {
        spec.note('', 'assertions on headers that may be missing are not supported; this one is omitted');
        return [];
      }
      const isThere = { source: 'HEADERS', comparison: 'HAS_KEY', target: property };
      return [...(mayMiss ? [] : [isThere]), { source: 'HEADERS', property, comparison, regex }];
    });
  return [...read('fail_if_header_matches', 'IS_EMPTY'), ...read('fail_if_header_not_matches', 'NOT_EMPTY')];
}

function encryption(http: Source, tls: Source): Assertion[] {
  const of = { source: 'CONNECTION', property: 'tlsVersion' };
  return [
    ...(http.flag('fail_if_ssl') ? [{ ...of, comparison: 'IS_NULL' }] : []),
    ...(http.flag('fail_if_not_ssl') ? [{ ...of, comparison: 'NOT_NULL' }] : []),
    ...tlsVersions(tls),
  ];
}

function versions(http: Source): Assertion[] {
  const written = http.list('valid_http_versions').map(String);
  if (written.length === 0) return [];
  const [only = '', ...others] = written.map((one) => one.replace(/^HTTP\//, ''));
  if (others.length === 0) {
    return [{ source: 'CONNECTION', property: 'httpVersion', comparison: 'EQUALS', target: only }];
  }
  http.note(
    'valid_http_versions',
    `assertions cannot match "one of several values": ${written.join(', ')} is not checked`,
  );
  return [];
}

function* requestHeaders(http: Source, collection: Collection, name: string): Generator<Fields> {
  for (const [key, value] of Object.entries((http.take('headers') ?? {}) as Fields)) {
    if (!/authorization|token|key|secret|cookie/i.test(key)) yield { key, value: String(value) };
    else yield { key, value: collection.secret(`${name}_${key}`, String(value)), locked: true };
  }
  const authorization = http.child('authorization');
  const token = http.text('bearer_token') ?? authorization.text('credentials');
  const kind = authorization.text('type') ?? 'Bearer';
  if (token !== undefined) {
    yield {
      key: 'Authorization',
      value: collection.secret(`${name}_authorization`, `${kind} ${token}`),
      locked: true,
    };
  } else if (authorization.peek('type')) authorization.note('type', 'there are no credentials to send');
}
