import { type ForwardProxy, isProxyUrl, proxyFromUrl } from '@picket/probes/connection/forward-proxy.ts';
import { type Failure, failure } from '../contract/failure.ts';
import type { RunContext } from '../contract/run-context.ts';
import { templateFailure } from '../judging/filled.ts';
import { render } from '../judging/templating.ts';

/** A location's proxy, or why it cannot be used; of what a run is given, only what is asked for that. */
type Located = Pick<RunContext, 'proxyUrl' | 'variables'>;
export type LocationProxy = { readonly proxy: ForwardProxy | undefined } | { readonly failure: Failure };

/** The URL of the location's proxy with its templates filled in; undefined without one. */
function filledUrl({
  proxyUrl,
  variables,
}: Located): { readonly url: URL | undefined } | { readonly failure: Failure } {
  try {
    const text = proxyUrl === null ? '' : render(proxyUrl, variables, 'url').trim();
    if (text === '') return { url: undefined };
    const url = URL.parse(text);
    if (url && isProxyUrl(url)) return { url };
    return {
      failure: failure('PROXY_FAILED', 'the proxyUrl of the location is not an http, https or socks5 URL'),
    };
  } catch (thrown) {
    return templateFailure(thrown);
  }
}

/** The location's proxy. */
export function locationProxy(located: Located): LocationProxy {
  const filled = filledUrl(located);
  return 'failure' in filled ? filled : { proxy: filled.url && proxyFromUrl(filled.url) };
}

/** Whether there is one, and nothing is wrong with it. */
export function isProxied(found: LocationProxy): boolean {
  return 'proxy' in found && found.proxy !== undefined;
}

/** The same for what is no HTTP: only a proxy of SOCKS carries that. */
export function socksProxy(located: Located): LocationProxy {
  const found = locationProxy(located);
  return 'proxy' in found && found.proxy?.protocol === 'http' ? { proxy: undefined } : found;
}

/** The same for scripts, as a URL. */
export function scriptProxyUrl(
  located: Located,
  { hasBrowser }: { readonly hasBrowser: boolean },
): { readonly proxyUrl: string | null } | { readonly failure: Failure } {
  const filled = filledUrl(located);
  if ('failure' in filled) return filled;
  const { url } = filled;
  if (hasBrowser && url?.username && url.protocol.startsWith('socks5')) {
    const message =
      'browsers cannot authenticate at a SOCKS5 proxy: let the proxy accept this host by its address, or use an http proxy';
    return { failure: failure('PROXY_FAILED', message) };
  }
  return { proxyUrl: url?.href ?? null };
}
