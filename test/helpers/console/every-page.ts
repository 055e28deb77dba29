import { pages } from '../../../src/console/registry.ts';
import type { Window } from './console-stage.ts';

/** An address of a page, and the path in the registry that it matches. */
export interface PageExample {
  readonly pattern: string;
  readonly address: string;
}

/**
 * Visits the pages of the registry by following their links, and finds addresses of each: a new page needs no line
 * here, only a link from an existing page.
 *
 * @param examples the number of addresses wanted for each pattern.
 * @param look is called on each page.
 * @param from initial addresses, for links that not every example of a pattern has.
 * @returns also the patterns that no link leads to.
 */
export async function everyPage(
  window: Window,
  examples: number,
  look: (address: string) => Promise<void> = async () => undefined,
  from: readonly string[] = [],
): Promise<{ found: PageExample[]; unreached: string[] }> {
  const patterns = pages
    .filter(({ method = 'GET', path }) => method === 'GET' && !/\/files\/\*$|\.\w+$/.test(path))
    .map(({ path }) => ({ pattern: path, match: asRegExp(path) }))
    // Patterns with fewer parameters match first: `/checks/new` is not a check.
    .sort((left, right) => left.pattern.split(':').length - right.pattern.split(':').length);
  const found: PageExample[] = [];
  const waiting = [
    ...from,
    ...patterns.filter(({ pattern }) => !/[:*]/.test(pattern)).map(({ pattern }) => pattern),
  ];
  const seen = new Set(waiting);
  for (let address = waiting.shift(); address !== undefined; address = waiting.shift()) {
    const pathname = address.split('?')[0] ?? '';
    const pattern = patterns.find(({ match }) => match.test(pathname))?.pattern;
    if (pattern === undefined || found.filter((one) => one.pattern === pattern).length >= examples) continue;
    found.push({ pattern, address });
    await window.go(address);
    await look(address);
    const links = await window.page.evaluate<string[]>(
      `[...document.querySelectorAll('main a[href], nav a[href]')].map((link) => link.getAttribute('href'))`,
    );
    // Files are downloads, not pages.
    const isPage = (link: string) => link.startsWith('/') && !/\.\w+$/.test(link.split('?')[0] ?? '');
    for (const link of links.filter((one) => isPage(one) && !seen.has(one))) {
      seen.add(link);
      waiting.push(link);
    }
  }
  const reached = new Set(found.map(({ pattern }) => pattern));
  return { found, unreached: patterns.flatMap(({ pattern }) => (reached.has(pattern) ? [] : [pattern])) };
}

function asRegExp(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.*')}$`);
}
