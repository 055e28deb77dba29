import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen, type Target } from './listening.ts';

/** Answer to a request for a path: a document, or a function that answers by itself. */
export type RdapAnswers = Readonly<
  Record<string, object | ((response: ServerResponse, request: IncomingMessage) => void)>
>;

export interface RdapTarget extends Target {
  /** Paths in the order of the requests. */
  readonly paths: readonly string[];
  /** URL of a list in which this server is responsible for some top-level domains. */
  readonly directory: string;
}

/** An answer about a domain as registries give it, which expires in some days. */
export function rdapDomain(domain: string, days: number | null, more: object = {}): object {
  const inDays = (count: number) => new Date(Date.now() + count * 86_400_000 + 60_000).toISOString();
  return {
    objectClassName: 'domain',
    rdapConformance: ['rdap_level_0'],
    ldhName: domain.toUpperCase(),
    status: ['client transfer prohibited'],
    events: [
      { eventAction: 'registration', eventDate: '1995-08-14T04:00:00Z' },
      { eventAction: 'last changed', eventDate: inDays(-30) },
      ...(days === null ? [] : [{ eventAction: 'expiration', eventDate: inDays(days) }]),
    ],
    entities: [
      {
        objectClassName: 'entity',
        handle: '292',
        roles: ['registrar'],
        vcardArray: [
          'vcard',
          [
            ['version', {}, 'text', '4.0'],
            ['fn', {}, 'text', 'Example Registrar Inc.'],
          ],
        ],
      },
    ],
    nameservers: [
      { objectClassName: 'nameserver', ldhName: 'NS2.EXAMPLE.NET' },
      { objectClassName: 'nameserver', ldhName: 'NS1.EXAMPLE.NET.' },
    ],
    secureDNS: { delegationSigned: true },
    ...more,
  };
}

/**
 * Starts a server as registries run them, and IANA: `/dns.json` lists it for `topLevelDomains`, and everything without an
 * answer is a 404.
 */
export async function startRdapTarget(
  answers: RdapAnswers,
  topLevelDomains: readonly string[] = ['test'],
): Promise<RdapTarget> {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    paths.push(path);
    const own = `http://${request.headers.host}/rdap`;
    const list = {
      version: '1.0',
      services: [
        [['other'], ['https://rdap.example/']],
        [topLevelDomains, [own]],
      ],
    };
    const answer =
      path === '/dns.json' ? (answers[path] ?? list) : answers[path.replace('/rdap/domain/', '')];
    if (typeof answer === 'function') return answer(response, request);
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/rdap+json' });
    response.end(JSON.stringify(answer ?? { errorCode: 404, title: 'Not Found' }));
  });
  const target = await listen(server, { scheme: 'http' });
  return { ...target, paths, directory: `${target.url}/dns.json` };
}
