import { type Failure, failure } from '../contract/failure.ts';
import { parseServerName } from '../contract/target.ts';
import { render } from '../judging/templating.ts';

/**
 * The name for TLS with its templates filled in; undefined where the host's own counts.
 *
 * @throws TemplateError
 */
export function filledServerName(
  written: string | null,
  variables: Readonly<Record<string, string>>,
): { readonly serverName: string | undefined } | { readonly failure: Failure } {
  if (written === null) return { serverName: undefined };
  const filled = render(written, variables, 'raw');
  const serverName = parseServerName(filled);
  if (serverName !== undefined) return { serverName };
  return { failure: failure('HOST_INVALID', `the server name ${JSON.stringify(filled)} is no host name`) };
}
