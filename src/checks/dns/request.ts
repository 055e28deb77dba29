import { hostAndPort } from '@picket/probes/address.ts';
import { type Failure, failure } from '../contract/failure.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { Assertion } from '../judging/assertion.ts';
import { filledAssertions } from '../judging/filled.ts';
import { render } from '../judging/templating.ts';
import { type NamedServer, namedServer } from './named-server.ts';
import type { DnsSpec } from './spec.ts';

/** A check's request with its templates filled in. */
export interface FilledRequest {
  readonly query: string;
  readonly nameServer: NamedServer | null;
  readonly assertions: readonly Assertion[];
}

type Variables = Pick<RunContext, 'variables'>;

/**
 * Fills in the templates of a request, or returns what is wrong with the definition.
 *
 * @param server the name server to ask, for a check that names several.
 * @throws TemplateError
 */
export function fillRequest(
  { request: spec }: DnsSpec,
  { variables }: Variables,
  server?: NamedServer,
): FilledRequest | { readonly failure: Failure } {
  const query = render(spec.query, variables, 'raw').trim();
  const named = server ?? ownServer(spec, variables);
  if (named && 'failure' in named) return named;
  return { query, nameServer: named, assertions: filledAssertions(spec.assertions, variables) };
}

/** The only name server of a check; null: the resolver of the location. */
function ownServer({ nameServer, port, protocol }: DnsSpec['request'], variables: Variables['variables']) {
  if (nameServer === null || port === null) return null;
  const written = render(nameServer, variables, 'raw').trim();
  return namedServer(written, protocol, port) ?? notAServer(written);
}

/** Returns the servers of a check that names several, each of them once. @throws TemplateError */
export function filledServers(
  { request: { nameServers, protocol } }: DnsSpec,
  { variables }: Variables,
): readonly NamedServer[] | { readonly failure: Failure } {
  const servers = new Map<string, NamedServer>();
  for (const template of nameServers) {
    const written = render(template, variables, 'raw').trim();
    const named = namedServer(written, protocol);
    if (!named) return notAServer(written);
    servers.set(serverName(named), named);
  }
  return [...servers.values()];
}

/** Formats a server as its check names it, with its port. */
export function serverName({ hostname, port, path = '' }: NamedServer): string {
  return `${hostAndPort(hostname, port)}${path}`;
}

function notAServer(written: string): { readonly failure: Failure } {
  const message = `the name server ${JSON.stringify(written)} is neither a host name nor an IP address`;
  return { failure: failure('HOST_INVALID', message) };
}
