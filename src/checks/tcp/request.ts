import type { ForwardProxy } from '@picket/probes/connection/forward-proxy.ts';
import type { Failure } from '../contract/failure.ts';
import type { RunContext } from '../contract/run-context.ts';
import { cutText } from '../http/body.ts';
import { socksProxy } from '../http/location-proxy.ts';
import type { Assertion } from '../judging/assertion.ts';
import { filledAssertions, filledHostname, filledServerName } from '../judging/filled.ts';
import { render } from '../judging/templating.ts';
import type { TcpDetail } from './detail.ts';
import type { TcpSpec } from './spec.ts';

/** A prepared connection: templates filled in. */
export interface PreparedConnection {
  readonly hostname: string;
  /** TLS server name; undefined: the host. */
  readonly serverName: string | undefined;
  readonly proxy: ForwardProxy | undefined;
  /** "" if nothing is sent. */
  readonly data: string;
  readonly assertions: readonly Assertion[];
  /** Whether to wait for data: an assertion examines it, or the sent data require a response. */
  readonly isAnswerWanted: boolean;
}

/** Fills in the templates of a TCP monitor, or returns what is wrong with the definition. @throws TemplateError */
export function prepareConnection(
  { request }: TcpSpec,
  context: RunContext,
): PreparedConnection | { readonly failure: Failure } {
  const { variables } = context;
  const host = filledHostname(request.hostname, variables);
  if ('failure' in host) return host;
  const named = filledServerName(request.serverName, variables);
  if ('failure' in named) return named;
  const data = render(request.data ?? '', variables, 'raw');
  const assertions = filledAssertions(request.assertions, variables);
  // Captured values are not known yet, but invalid templates are found.
  for (const { text } of request.steps) render(text, variables, 'raw');
  const located = socksProxy(context);
  if ('failure' in located) return located;
  const isDataAsserted = assertions.some(({ source }) => source === 'RESPONSE_DATA');
  const isAnswerWanted = data !== '' || isDataAsserted;
  return { ...host, ...named, ...located, data, assertions, isAnswerWanted };
}

/** The request as details show it. */
export function requestDetail(
  { request }: TcpSpec,
  asked: {
    readonly hostname: string;
    readonly data: string;
    readonly serverName?: string | null | undefined;
  },
): TcpDetail['request'] {
  const { hostname, data, serverName } = asked;
  const { port, ipFamily, useSSL, skipSSL } = request;
  return {
    hostname,
    port,
    data: data === '' ? null : cutText(data).body,
    ...{ ipFamily, useSSL, skipSSL },
    ...(typeof serverName === 'string' && { serverName }),
  };
}

/** The detail of a run that sent nothing. */
export function unsentDetail(spec: TcpSpec): Pick<TcpDetail, 'request' | 'response'> {
  return {
    request: requestDetail(spec, { ...spec.request, data: spec.request.data ?? '' }),
    response: { truncated: false, timingPhases: null, ipAddress: null, ipFamily: null, certificate: null },
  };
}
