import { type Failure, failure } from '../contract/failure.ts';
import type { RunContext } from '../contract/run-context.ts';
import { parseHostname } from '../contract/target.ts';
import type { Assertion } from '../judging/assertion.ts';
import { filledAssertions } from '../judging/filled.ts';
import { render } from '../judging/templating.ts';
import type { DnsSpec } from './spec.ts';

/** A check's request with its templates filled in. */
export interface FilledRequest {
  readonly query: string;
  readonly nameServer: NamedServer | null;
  readonly assertions: readonly Assertion[];
}

/** A name server as a check names it. */
export interface NamedServer {
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** Path of a DNS-over-HTTPS server, unless it is the default. */
  readonly path: string | undefined;
}

/** Fills in the templates of a request, or returns what is wrong with the definition. @throws TemplateError */
export function fillRequest(
  { request: spec }: DnsSpec,
  { variables }: Pick<RunContext, 'variables'>,
): FilledRequest | { readonly failure: Failure } {
  const query = render(spec.query, variables, 'raw').trim();
  const written = spec.nameServer === null ? null : render(spec.nameServer, variables, 'raw').trim();
  const nameServer =
    written === null || spec.port === null ? null : namedServer(written, spec.port, spec.protocol);
  if (nameServer === undefined) {
    const message = `the name server ${JSON.stringify(written)} is neither a host name nor an IP address`;
    return { failure: failure('HOST_INVALID', message) };
  }
  return { query, nameServer, assertions: filledAssertions(spec.assertions, variables) };
}

/** Parses a name or address; for DNS over HTTPS it may be a URL or have a path. */
function namedServer(
  written: string,
  port: number,
  protocol: DnsSpec['request']['protocol'],
): NamedServer | undefined {
  const isHttps = protocol === 'DOH';
  const text = isHttps ? written.replace(/^https:\/\//i, '') : written;
  const slash = isHttps ? text.indexOf('/') : -1;
  const hostname = parseHostname(slash < 0 ? text : text.slice(0, slash));
  if (hostname === undefined) return undefined;
  const path = slash < 0 ? '/' : text.slice(slash);
  return { hostname, port, path: path === '/' ? undefined : path };
}
