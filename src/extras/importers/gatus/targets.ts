import { dictionary } from '@picket/lib/names/dictionary.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';
import type { Source } from '../source.ts';
import type { Placeholders } from './conditions.ts';

/** The check for an endpoint, and the sources for its conditions. */
export interface Target extends Placeholders {
  readonly request: Fields;
  /** Maximum timeout of the type. */
  readonly mostMs: number;
}

const connection: Target['connection'] = {
  certificateDays: { source: 'CONNECTION', property: 'certificateDaysRemaining' },
  address: { source: 'CONNECTION', property: 'ipAddress' },
};
const handshake: Target['connection'] = {
  certificateDays: { source: 'CERTIFICATE', property: 'daysUntilExpiry' },
  address: { source: 'CONNECTION', property: 'resolvedIp' },
};
/** A target without a body and without connection facts. */
const bare = {
  ...{ body: undefined, json: false, connection: undefined },
  time: { source: 'RESPONSE_TIME' },
};

type Reader = (endpoint: Source, url: string, rest: string) => Target | { readonly lost: string };

/** The check for an address, or the reason why it is lost. */
export function targetOf(endpoint: Source, url: string): Target | { readonly lost: string } {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/i.exec(url) ?? [];
  const read = schemes[scheme.toLowerCase()];
  if (read) return read(endpoint, url, rest);
  return {
    lost: `Picket has no check for ${scheme === '' ? 'an address without a scheme' : `${scheme}://`}`,
  };
}

/** The check that sends one query to a name server. */
export function dnsTarget(endpoint: Source, url: string): Target {
  const dns = endpoint.child('dns');
  const [, nameServer = url, port = '53'] = /^\[?([^\]]+?)\]?(?::(\d+))?$/.exec(url) ?? [];
  const request = {
    query: dns.text('query-name') ?? '',
    recordType: dns.text('query-type') ?? 'A',
    nameServer,
    port: Number(port),
  };
  return { ...bare, checkType: 'DNS', request, mostMs: 5000, body: { source: 'TEXT_ANSWER' } };
}

const http: Reader = (_endpoint, url) => ({
  ...{ ...bare, checkType: 'API', request: { url }, mostMs: 30_000 },
  ...{ body: { source: 'TEXT_BODY' }, json: true, connection },
});

const tcp =
  (isTls: boolean): Reader =>
  (endpoint, _url, rest) => {
    const address = addressOf(rest);
    if (!address) return { lost: 'a TCP endpoint needs a port' };
    const request = { ...address, ...(isTls ? { useSSL: true } : {}), ...dataOf(endpoint) };
    const body = { source: 'RESPONSE_DATA' };
    return { ...bare, checkType: 'TCP', request, mostMs: 5000, body, connection };
  };

const udp: Reader = (endpoint, _url, rest) => {
  const address = addressOf(rest);
  if (!address) return { lost: 'a UDP endpoint needs a port' };
  if (!endpoint.peek('body')) return { lost: 'nothing is sent, so no response is possible' };
  const request = { ...address, ...dataOf(endpoint) };
  return { ...bare, checkType: 'UDP', request, mostMs: 25_000, body: { source: 'RESPONSE_DATA' } };
};

const starttls: Reader = (_endpoint, _url, rest) => {
  const address = addressOf(rest);
  if (!address) return { lost: 'a STARTTLS endpoint needs a port' };
  // Gatus uses SMTP here, and requires a certificate that is trusted, in date, and valid for the name.
  const leniently = { alertDaysBeforeExpiry: null, securityBaseline: { enabled: false } };
  const request = { sslConfig: { ...address, startTls: 'smtp', ...leniently } };
  return { ...bare, checkType: 'SSL', request, mostMs: 30_000, connection: handshake };
};

const icmp: Reader = (_endpoint, _url, rest) => {
  const request = { hostname: rest.replace(/\/$/, ''), pingCount: 1 };
  const time = { source: 'LATENCY', property: 'avg' };
  return { ...bare, checkType: 'ICMP', request, mostMs: 300_000, time };
};

/** Sends the body, if there is one, and waits for one message, as Gatus does. */
const webSocket: Reader = (endpoint, url) => {
  const message = endpoint.text('body');
  const steps = [
    ...(message === undefined ? [] : [{ type: 'SEND', message }]),
    { type: 'EXPECT', timeoutMs: 30_000 },
  ];
  return {
    ...{ ...bare, checkType: 'WEBSOCKET', request: { url, steps }, mostMs: 60_000 },
    ...{ body: { source: 'TEXT_BODY' }, json: true, connection },
  };
};

const grpc =
  (isTls: boolean): Reader =>
  (_endpoint, _url, rest) => {
    const address = addressOf(rest);
    if (!address) return { lost: 'a gRPC endpoint needs a port' };
    const { hostname, port } = address;
    const request = { url: hostname, port, grpcConfig: { mode: 'HEALTH', tls: isTls } };
    const status = { source: 'GRPC_HEALTHCHECK_STATUS' };
    return { ...bare, checkType: 'GRPC', request, mostMs: 180_000, connection, status };
  };

const schemes = dictionary<Reader>({
  ...{ http, https: http, udp, starttls, icmp },
  ...{ tcp: tcp(false), tls: tcp(true) },
  ...{ ws: webSocket, wss: webSocket },
  ...{ grpc: grpc(false), grpcs: grpc(true) },
});

function addressOf(rest: string): { readonly hostname: string; readonly port: number } | undefined {
  const [, hostname = '', port = ''] = /^\[?([^\]/]+?)\]?:(\d+)\/?$/.exec(rest) ?? [];
  return port === '' ? undefined : { hostname, port: Number(port) };
}

function dataOf(endpoint: Source): Fields {
  const data = endpoint.text('body');
  return data === undefined ? {} : { data };
}
