import { createHash } from 'node:crypto';
import type { EnvironmentVariable } from '@picket/checks/contract/definition/common-fields.ts';
import { cleanText } from '@picket/checks/secrets/clean-text.ts';
import { SecretFinder } from '@picket/checks/secrets/secret-finder.ts';
import { credentialHeaderShapes } from '@picket/checks/secrets/shapes/credentials/credential-header-shape.ts';
import { LruMap } from '@picket/lib/lru.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Check } from '../checks/store.ts';

const maxFinders = 20;

/**
 * Removes secrets from what jobs send with their pings, as agents do from results: the values of secret variables of
 * the account and the check, credential headers, and user info in URLs.
 */
export class PingSecrets {
  /** By a hash of the secrets: to prepare a search takes longer than to search. */
  readonly #finders = new LruMap<string, SecretFinder>(maxFinders);

  /** Returns a function that cleans texts of a check's pings. */
  async cleanerOf(
    { variables }: Pick<Repositories, 'variables'>,
    { accountId, definition }: Pick<Check, 'accountId' | 'definition'>,
  ): Promise<(text: string, isCut?: boolean) => string> {
    const own = definition['environmentVariables'];
    const all: readonly Pick<EnvironmentVariable, 'value' | 'secret' | 'locked'>[] = [
      ...(await variables.ofAccounts([accountId])).map(({ value, secret, locked }) => ({
        value,
        secret: secret === 1,
        locked: locked === 1,
      })),
      ...(Array.isArray(own) ? (own as EnvironmentVariable[]) : []),
    ];
    const secrets = all.flatMap(({ value, secret, locked }) => (value && (secret || locked) ? [value] : []));
    const finder = this.#finderOf([...new Set(secrets)].sort());
    return (text, isCut) => cleanText(finder, text, isCut);
  }

  #finderOf(secrets: readonly string[]): SecretFinder {
    const key = createHash('sha256').update(JSON.stringify(secrets)).digest('base64');
    return this.#finders.getOrMake(key, () => new SecretFinder(secrets, credentialHeaderShapes()));
  }
}
