import { z } from 'zod';
import { CachedCredential } from '../../cached-credential.ts';
import { readAnswer, refusal } from '../../http.ts';
import { defineProvider } from '../../provider.ts';
import { gcpSettings } from './settings.ts';
import { gcpToken } from './token.ts';

const who = 'Google Secret Manager';

const Access = z.object({ payload: z.object({ data: z.base64() }) });
const explanation = z
  .object({ error: z.object({ status: z.string().default(''), message: z.string().default('') }) })
  .transform(({ error }) => [error.status, error.message].filter((text) => text !== '').join(': '));

const placePattern =
  /^projects\/[\w:.-]{1,100}\/(?:locations\/(?<location>[a-z0-9-]{1,40})\/)?secrets\/[\w-]{1,255}(?<version>\/versions\/[\w-]{1,63})?$/;

/** Google Secret Manager, by the resource name of a secret; without a version the latest. */
export const gcp = defineProvider({
  name: 'gcp',
  form: 'gcp:projects/PROJECT/secrets/NAME',
  settings: gcpSettings,
  placeProblem: (place) =>
    placePattern.test(place)
      ? undefined
      : 'the place is the resource name of a secret, or of one of its versions',
  privatePaths: ({ keyPath }) => [keyPath],
  open: (settings, means) => {
    const token = new CachedCredential(means.clock, (stop) => gcpToken(settings, means, stop));
    return {
      async fetch(place, signal) {
        const { location, version } = placePattern.exec(place)?.groups ?? {};
        // Regional secrets are only at the address of their region.
        const host = `secretmanager.${location === undefined ? '' : `${location}.rep.`}googleapis.com`;
        const name = version === undefined ? `${place}/versions/latest` : place;
        const url = `${settings.secretsUrl ?? `https://${host}`}/v1/${name}:access`;
        const ask = (bearer: string) =>
          means.http.request({ url, headers: { authorization: `Bearer ${bearer}` } }, signal);
        const bearer = await token.get(signal);
        let answer = await ask(bearer);
        if (answer.status === 401) {
          token.forget(bearer);
          answer = await ask(await token.get(signal));
        }
        if (answer.status !== 200) throw refusal(who, answer, explanation);
        const { data } = readAnswer(who, Access, answer).payload;
        return { content: Buffer.from(data, 'base64').toString('utf8') };
      },
    };
  },
});
