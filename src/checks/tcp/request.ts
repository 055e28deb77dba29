import { type Failure, failure } from '../contract/failure.ts';
import { parseHostname } from '../contract/target.ts';
import { filledServerName } from '../http/server-name.ts';
import type { Assertion } from '../judging/assertion.ts';
import { render, TemplateError } from '../judging/templating.ts';
import type { TcpSpec } from './spec.ts';

/** A connection that can be made: templates filled in. */
export interface PreparedConnection {
  readonly hostname: string;
  /** The name for TLS; undefined: that of the host. */
  readonly serverName: string | undefined;
  /** "" when nothing is sent. */
  readonly data: string;
  readonly assertions: readonly Assertion[];
  /** Whether what the target says is looked at, or an answer to what is sent has to come. */
  readonly isAnswerWanted: boolean;
}

/** Fills in the templates of a TCP monitor, or says what is wrong with the definition. */
export function prepareConnection(
  request: TcpSpec['request'],
  variables: Readonly<Record<string, string>>,
): { readonly connection: PreparedConnection } | { readonly failure: Failure } {
  try {
    const written = render(request.hostname, variables, 'raw');
    const hostname = parseHostname(written);
    if (hostname === undefined) {
      const message = `${JSON.stringify(written)} is neither a host name nor an address`;
      return { failure: failure('HOST_INVALID', `${message}; scheme, port and path do not belong there`) };
    }
    const named = filledServerName(request.serverName, variables);
    if ('failure' in named) return named;
    const data = render(request.data ?? '', variables, 'raw');
    const assertions = request.assertions.map((assertion) => ({
      ...assertion,
      target: render(assertion.target, variables, 'raw'),
    }));
    // What the steps capture is not known yet; what is no template at all is.
    for (const { text } of request.steps) render(text, variables, 'raw');
    const isDataAsserted = assertions.some(({ source }) => source === 'RESPONSE_DATA');
    const isAnswerWanted = data !== '' || isDataAsserted;
    return { connection: { hostname, ...named, data, assertions, isAnswerWanted } };
  } catch (thrown) {
    if (thrown instanceof TemplateError) return { failure: failure('TEMPLATE_INVALID', thrown.message) };
    throw thrown;
  }
}
