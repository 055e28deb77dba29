import type { PageCall } from '../page.ts';

/** An address at which agents reach the service. */
export interface ServiceAddress {
  readonly url: string;
  /** Only programs on the service's own machine reach it. */
  readonly isLoopback: boolean;
}

const example = 'https://picket.example.com';

/**
 * Returns PUBLIC_URL if set, otherwise the address at which the browser reached the page: agents on the same network
 * reach it, too.
 */
export function serviceAddress({
  publicUrl,
  request,
}: Pick<PageCall, 'publicUrl' | 'request'>): ServiceAddress {
  const url = URL.parse(publicUrl ?? `${request.protocol}://${request.host}`);
  // The address becomes part of commands: anything unusual in it is left out.
  if (!url || !/^[\w.:[\]-]+$/.test(url.host)) return { url: example, isLoopback: false };
  const path = /^\/[\w/.~-]*$/.test(url.pathname) ? url.pathname.replace(/\/+$/, '') : '';
  return { url: `${url.origin}${path}`, isLoopback: isLoopback(url.hostname) };
}

/** Whether a host name or address always means the machine of the program that uses it. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/i.test(hostname);
}

/** Address of the host's own services inside a container of Docker Desktop. */
export function fromContainer({ url }: ServiceAddress): string {
  const inside = new URL(url);
  inside.hostname = 'host.docker.internal';
  return inside.href.replace(/\/+$/, '');
}
