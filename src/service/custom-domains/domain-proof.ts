import { createHash } from 'node:crypto';
import { Resolver } from 'node:dns/promises';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { customDomainOf } from '@picket/protocol/pages/page-fields.ts';
import type { CustomDomainRow, DomainMethod } from './tables.ts';

/** DNS queries that proofs use. */
export type NameServers = Pick<Resolver, 'resolveTxt' | 'resolveCname'>;

export interface DomainProofOptions {
  readonly publicUrl?: string | undefined;
  readonly artifactsUrl?: string | undefined;
  /** Whether the operator permits a name for pages. */
  readonly isAllowed?: (host: string) => boolean;
  /** Those of the host if absent. */
  readonly nameServers?: NameServers | undefined;
}

/** A proof; or what was found instead, and whether that is certain: name servers that do not respond prove nothing. */
export type Proof =
  | { readonly method: Exclude<DomainMethod, 'UPGRADE'> }
  | { readonly method: null; readonly problem: string; readonly isSure: boolean };

const tokenStart = 'picket-domain=';
const longestChain = 8;
const shownRecords = 3;

/** Verifies that the owner of a page may use its host name: by DNS, or because the operator permits it. */
export class DomainProof {
  readonly #nameServers: NameServers;
  readonly #isAllowed: (host: string) => boolean;
  readonly #ownNames: ReadonlySet<string>;
  /** Host name of the service; undefined if unknown. */
  readonly serviceHost: string | undefined;

  constructor({ publicUrl, artifactsUrl, isAllowed, nameServers }: DomainProofOptions) {
    this.#nameServers = nameServers ?? new Resolver({ timeout: 2_000, tries: 2 });
    this.#isAllowed = isAllowed ?? (() => false);
    this.serviceHost = hostOf(publicUrl);
    this.#ownNames = new Set([publicUrl, artifactsUrl].flatMap((url) => hostOf(url) ?? []));
  }

  isAllowed(host: string): boolean {
    return this.#isAllowed(host);
  }

  /** Whether the settings assign a name to the service itself. */
  isOwn(host: string): boolean {
    return this.#ownNames.has(host);
  }

  /** Record that proves that an account may use a name. It stays the same if the page is recreated. */
  recordOf({ host, account_id: accountId }: Pick<CustomDomainRow, 'host' | 'account_id'>) {
    const token = createHash('sha256')
      .update(`custom domain\0${accountId}\0${host}`)
      .digest('hex')
      .slice(0, 32);
    return { type: 'TXT', name: `_picket.${host}`, value: `${tokenStart}${token}` } as const;
  }

  async prove(domain: Pick<CustomDomainRow, 'host' | 'account_id'>): Promise<Proof> {
    const { host } = domain;
    if (this.#isAllowed(host)) return { method: 'OPERATOR' };
    const { name, value } = this.recordOf(domain);
    const [texts, chain] = await Promise.all([this.#textsOf(name), this.#chainOf(host)]);
    const tokens = texts.values.filter((text) => text.startsWith(tokenStart));
    if (tokens.includes(value)) return { method: 'TXT' };
    // A record for another account claims the name, so a CNAME record cannot override it.
    const leadsHere = this.serviceHost !== undefined && chain.values.includes(this.serviceHost);
    if (tokens.length === 0 && texts.isSure && leadsHere) return { method: 'CNAME' };
    const found = texts.values.length === 0 ? texts.problem : `has the TXT records ${shown(texts.values)}`;
    const led = chain.values.length === 0 ? chain.problem : `leads to ${shown(chain.values)}`;
    return {
      method: null,
      problem: `${name} ${found}; ${host} ${led}.`,
      isSure: texts.isSure && chain.isSure,
    };
  }

  async #textsOf(name: string): Promise<Looked> {
    return looked('has no TXT record', async () =>
      (await this.#nameServers.resolveTxt(name)).map((parts) => parts.join('')),
    );
  }

  /** Targets of a name, following CNAME records. */
  async #chainOf(host: string): Promise<Looked> {
    const values: string[] = [];
    let last: Looked = { values: [], isSure: true, problem: '' };
    for (let name = host; values.length < longestChain; name = values.at(-1) ?? host) {
      last = await looked('has no CNAME record', () => this.#nameServers.resolveCname(name));
      const next = last.values[0] && (customDomainOf(last.values[0]) ?? last.values[0].toLowerCase());
      if (next === undefined || values.includes(next)) break;
      values.push(next);
    }
    return { ...last, values };
  }
}

interface Looked {
  readonly values: readonly string[];
  readonly isSure: boolean;
  readonly problem: string;
}

/** Error codes that mean that no such record exists. */
const absent: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);

async function looked(noneText: string, ask: () => Promise<string[]>): Promise<Looked> {
  try {
    return { values: await ask(), isSure: true, problem: noneText };
  } catch (thrown) {
    const code = errorCodeOf(thrown);
    if (code !== undefined && absent.has(code)) return { values: [], isSure: true, problem: noneText };
    return { values: [], isSure: false, problem: `could not be looked up (${code ?? 'no answer'})` };
  }
}

function shown(values: readonly string[]): string {
  const texts = values.slice(0, shownRecords).map((value) => `"${value.slice(0, 100)}"`);
  return values.length > shownRecords ? `${texts.join(', ')} and others` : texts.join(', ');
}

function hostOf(url: string | undefined): string | undefined {
  return url === undefined ? undefined : URL.parse(url)?.hostname.replace(/\.$/, '');
}
