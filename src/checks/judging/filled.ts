import { type Failure, failure } from '../contract/failure.ts';
import { parseHostname, parseServerName } from '../contract/target.ts';
import type { Assertion } from './assertion.ts';
import { render, TemplateError } from './templating.ts';

type Variables = Readonly<Record<string, string>>;

/** Returns the name or address of a target with its templates filled in. @throws TemplateError */
export function filledHostname(
  template: string,
  variables: Variables,
): { readonly hostname: string } | { readonly failure: Failure } {
  const written = render(template, variables, 'raw');
  const hostname = parseHostname(written);
  if (hostname !== undefined) return { hostname };
  const message = `${JSON.stringify(written)} is neither a host name nor an address`;
  return { failure: failure('HOST_INVALID', `${message}; scheme, port and path are not allowed`) };
}

/**
 * Returns the TLS server name with its templates filled in; undefined if the host's own name applies.
 *
 * @throws TemplateError
 */
export function filledServerName(
  written: string | null,
  variables: Variables,
): { readonly serverName: string | undefined } | { readonly failure: Failure } {
  if (written === null) return { serverName: undefined };
  const filled = render(written, variables, 'raw');
  const serverName = parseServerName(filled);
  if (serverName !== undefined) return { serverName };
  return { failure: failure('HOST_INVALID', `the server name ${JSON.stringify(filled)} is not a host name`) };
}

/** Returns assertions with the templates of their targets filled in. @throws TemplateError */
export function filledAssertions(assertions: readonly Assertion[], variables: Variables): Assertion[] {
  return assertions.map((assertion) => ({
    ...assertion,
    target: render(assertion.target, variables, 'raw'),
  }));
}

/** Converts the error of a template into the failure of a run. @throws any other error */
export function templateFailure(thrown: unknown): { readonly failure: Failure } {
  if (thrown instanceof TemplateError) return { failure: failure('TEMPLATE_INVALID', thrown.message) };
  throw thrown;
}
