import { z } from 'zod';
import { CachedCredential } from '../../cached-credential.ts';
import { readAnswer, refusal } from '../../http.ts';
import { defineProvider } from '../../provider.ts';
import { azureProblems, azureSettings } from './settings.ts';
import { azureToken } from './token.ts';

const who = 'Azure Key Vault';
const apiVersion = '7.4';
const publicHost = 'vault.azure.net';

const Secret = z.object({ value: z.string() });
const explanation = z
  .object({ error: z.object({ code: z.string().default(''), message: z.string().default('') }) })
  .transform(({ error }) => [error.code, error.message].filter((text) => text !== '').join(': '));

interface SecretAddress {
  /** Address of the vault, without a path. */
  readonly origin: string;
  /** Resource for which a token is needed; one for each cloud. */
  readonly resource: string;
  readonly path: string;
}

const names = /^(?<vault>[a-zA-Z0-9-]{3,24})\/(?<name>[a-zA-Z0-9-]{1,127})(?:\/(?<version>[0-9a-f]{32}))?$/;
const identifier = /^\/secrets\/(?<name>[a-zA-Z0-9-]{1,127})(?:\/(?<version>[0-9a-f]{32}))?$/;
const loopback = ['127.0.0.1', 'localhost', '[::1]'];

/** Reads `VAULT/NAME`, or the identifier of a secret: the address that the portal shows. */
function addressOf(place: string): SecretAddress | undefined {
  const short = names.exec(place)?.groups;
  if (short) {
    const { vault = '', name = '', version } = short;
    return {
      origin: `https://${vault.toLowerCase()}.${publicHost}`,
      resource: `https://${publicHost}`,
      path: pathOf(name, version),
    };
  }
  const url = URL.parse(place);
  const parts = identifier.exec(url?.pathname ?? '')?.groups;
  if (!url || !parts || url.search !== '' || url.username !== '') return undefined;
  const isLoopback = loopback.includes(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback)) return undefined;
  return {
    origin: url.origin,
    // Vaults of a cloud share the domain of their resource, which follows the name of the vault.
    resource: isLoopback ? `https://${publicHost}` : `https://${url.hostname.split('.').slice(1).join('.')}`,
    path: pathOf(parts.name ?? '', parts.version),
  };
}

function pathOf(name: string, version: string | undefined): string {
  return `/secrets/${name}${version === undefined ? '' : `/${version}`}?api-version=${apiVersion}`;
}

/** Azure Key Vault, with an application or a managed identity. */
export const azure = defineProvider({
  name: 'azure',
  form: 'azure:VAULT/NAME',
  settings: azureSettings,
  placeProblem: (place) =>
    addressOf(place) === undefined
      ? 'the place is a name of a vault and of a secret, or the identifier of a secret (`https://…/secrets/NAME`)'
      : undefined,
  settingProblems: azureProblems,
  credentials: ({ clientSecret, identityHeader }) => [clientSecret, identityHeader],
  privatePaths: ({ clientSecretPath, federatedPath }) => [clientSecretPath, federatedPath],
  open: (settings, means) => {
    const tokens = new Map<string, CachedCredential<string>>();
    return {
      async fetch(place, signal) {
        const { origin, resource, path } = addressOf(place) ?? { origin: '', resource: '', path: '' };
        let token = tokens.get(resource);
        if (!token) {
          token = new CachedCredential(means.clock, (stop) => azureToken(settings, resource, means, stop));
          tokens.set(resource, token);
        }
        const ask = (bearer: string) =>
          means.http.request({ url: origin + path, headers: { authorization: `Bearer ${bearer}` } }, signal);
        const bearer = await token.get(signal);
        let answer = await ask(bearer);
        if (answer.status === 401) {
          token.forget(bearer);
          answer = await ask(await token.get(signal));
        }
        if (answer.status !== 200) throw refusal(who, answer, explanation);
        return { content: readAnswer(who, Secret, answer).value };
      },
    };
  },
});
