import { createHash } from 'node:crypto';
import { Resolver } from 'node:dns/promises';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { customDomainOf } from '@picket/protocol/pages/page-fields.ts';
import type { CustomDomainRow, DomainMethod } from './tables.ts';

/** What DNS is asked. */
export type NameServers = Pick<Resolver, 'resolveTxt' | 'resolveCname'>;

export interface DomainProofOptions {
  readonly publicUrl?: string | undefined;
  readonly artifactsUrl?: string | undefined;
  /** Whether the operator lets pages have a name. */
  readonly isAllowed?: (host: string) => boolean;
  /** Those of the host when absent. */
  readonly nameServers?: NameServers | undefined;
}

/** A proof; or what was found instead, and whether that is sure: name servers that do not answer prove nothing. */
export type Proof =
  | { readonly method: Exclude<DomainMethod, 'UPGRADE'> }
  | { readonly method: null; readonly problem: string; readonly isSure: boolean };

const tokenStart = 'picket-domain=';
const longestChain = 8;
const shownRecords = 3;

/** Proves that who has a page may have its host name: by DNS, or because the operator says so. */
export class DomainProof {
  readonly #nameServers: NameServers;
  readonly #isAllowed: (host: string) => boolean;
  readonly #ownNames: ReadonlySet<string>;
  /** The host name of the service; undefined where it does not know it. */
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

  /** Whether it is a name that the settings of the service give to the service itself. */
  isOwn(host: string): boolean {
    return this.#ownNames.has(host);
  }

  /** The record that proves that an account may have a name. It stays the same when the page is made again. */
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
    // A record for another account says whose name it is, so that a CNAME record cannot say otherwise.
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

  /** The names that a name leads to by CNAME records. */
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

/** Codes of name servers that say that there is no such record. */
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
