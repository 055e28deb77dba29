import { type ForwardProxy, isProxyUrl, proxyFromUrl } from '@picket/probes/connection/forward-proxy.ts';
import { type Failure, failure } from '../contract/failure.ts';
import type { RunContext } from '../contract/run-context.ts';
import { templateFailure } from '../judging/filled.ts';
import { render } from '../judging/templating.ts';

/** A location's proxy, or why it cannot be used; takes only the necessary part of a run's context. */
type Located = Pick<RunContext, 'proxyUrl' | 'variables'>;
export type LocationProxy = { readonly proxy: ForwardProxy | undefined } | { readonly failure: Failure };

/** Returns the URL of the location's proxy with its templates filled in; undefined without a proxy. */
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

/** Returns the location's proxy. */
export function locationProxy(located: Located): LocationProxy {
  const filled = filledUrl(located);
  return 'failure' in filled ? filled : { proxy: filled.url && proxyFromUrl(filled.url) };
}

/** Whether a usable proxy is set. */
export function isProxied(found: LocationProxy): boolean {
  return 'proxy' in found && found.proxy !== undefined;
}

/** Returns the location's proxy for protocols other than HTTP, which only a SOCKS proxy carries. */
export function socksProxy(located: Located): LocationProxy {
  const found = locationProxy(located);
  return 'proxy' in found && found.proxy?.protocol === 'http' ? { proxy: undefined } : found;
}

/** Returns the URL of the location's proxy for scripts. */
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
