import type { Failure } from '../contract/failure.ts';
import type { Assertion } from '../judging/assertion.ts';
import { filledAssertions, filledHostname, filledServerName } from '../judging/filled.ts';
import { withUsualTarget } from './assertions.ts';
import type { SslSpec } from './spec.ts';

/** A prepared handshake: templates filled in. */
export interface PreparedHandshake {
  readonly hostname: string;
  /** TLS server name; undefined: the host. */
  readonly serverName: string | undefined;
  readonly assertions: readonly Assertion[];
}

/** Fills in the templates of an SSL monitor, or returns what is wrong with the definition. @throws TemplateError */
export function prepareHandshake(
  { sslConfig, assertions }: SslSpec['request'],
  variables: Readonly<Record<string, string>>,
): PreparedHandshake | { readonly failure: Failure } {
  const host = filledHostname(sslConfig.hostname, variables);
  if ('failure' in host) return host;
  const named = filledServerName(sslConfig.serverName, variables);
  if ('failure' in named) return named;
  return {
    ...host,
    ...named,
    assertions: filledAssertions(assertions, variables).map((one) => withUsualTarget(one)),
  };
}
