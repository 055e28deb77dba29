import { type Failure, failure } from '../contract/failure.ts';
import { parseHostname } from '../contract/target.ts';
import { filledServerName } from '../http/server-name.ts';
import type { Assertion } from '../judging/assertion.ts';
import { render, TemplateError } from '../judging/templating.ts';
import { withUsualTarget } from './assertions.ts';
import type { SslSpec } from './spec.ts';

/** A handshake that can be made: templates filled in. */
export interface PreparedHandshake {
  readonly hostname: string;
  /** The name for TLS; undefined: that of the host. */
  readonly serverName: string | undefined;
  readonly assertions: readonly Assertion[];
}

/** Fills in the templates of an SSL monitor, or says what is wrong with the definition. */
export function prepareHandshake(
  { sslConfig, assertions }: SslSpec['request'],
  variables: Readonly<Record<string, string>>,
): { readonly prepared: PreparedHandshake } | { readonly failure: Failure } {
  try {
    const written = render(sslConfig.hostname, variables, 'raw');
    const hostname = parseHostname(written);
    if (hostname === undefined) {
      const message = `${JSON.stringify(written)} is neither a host name nor an address`;
      return { failure: failure('HOST_INVALID', `${message}; scheme, port and path do not belong there`) };
    }
    const named = filledServerName(sslConfig.serverName, variables);
    if ('failure' in named) return named;
    const filled = assertions.map((assertion) =>
      withUsualTarget({ ...assertion, target: render(assertion.target, variables, 'raw') }),
    );
    return { prepared: { hostname, ...named, assertions: filled } };
  } catch (thrown) {
    if (thrown instanceof TemplateError) return { failure: failure('TEMPLATE_INVALID', thrown.message) };
    throw thrown;
  }
}
