import { z } from 'zod';
import { readAnswer, refusal } from '../../http.ts';
import { ReferenceProblem } from '../../problem.ts';
import { defineProvider, type Fetched } from '../../provider.ts';
import { VaultSession, vaultError, who } from './session.ts';
import { vaultProblems, vaultSettings } from './settings.ts';

const Fields = z.record(z.string(), z.unknown());
const Secret = z.object({
  data: Fields.nullable(),
  lease_id: z.string().default(''),
  lease_duration: z.number().min(0).default(0),
});
/** A secret of version 2 of the key-value engine is an object in the data. */
const Versioned = z.object({ data: Fields.nullable(), metadata: z.object({ version: z.number() }) });

/** Segments of a path as Vault has them, and a version of the key-value engine. */
const placePattern = /^[\w.@+=~:-]+(?:\/[\w.@+=~:-]+)*(?:\?version=\d{1,9})?$/;

/**
 * HashiCorp Vault and OpenBao: secrets of the key-value engine in both versions, and of every engine that is read with
 * GET, such as credentials of databases. Those have a lease, and are fetched again before it ends.
 */
export const vault = defineProvider({
  name: 'vault',
  form: 'vault:MOUNT/data/PATH#FIELD',
  settings: vaultSettings,
  needsField: true,
  placeProblem: (place) => {
    if (place.length > 1024 || !placePattern.test(place))
      return 'the path is not one of the API of Vault, without `/v1/`';
    return place.split('/').some((segment) => segment === '.' || segment === '..')
      ? 'the path has a segment of dots'
      : undefined;
  },
  settingProblems: vaultProblems,
  credentials: ({ token, secretId }) => [token, secretId],
  privatePaths: ({ tokenPath, secretIdPath, kubernetesRole, kubernetesTokenPath }) => [
    tokenPath,
    secretIdPath,
    kubernetesRole === undefined ? undefined : kubernetesTokenPath,
  ],
  open: (settings, means) => {
    const session = new VaultSession(settings, means);
    return {
      async fetch(place, signal): Promise<Fetched> {
        const answer = await session.read(place, signal);
        if (answer.status !== 200) throw refusal(who, answer, vaultError);
        const { data, lease_id: leaseId, lease_duration: leaseSeconds } = readAnswer(who, Secret, answer);
        const versioned = Versioned.safeParse(data);
        const content = versioned.success ? versioned.data.data : data;
        if (content === null) {
          throw new ReferenceProblem('NOT_FOUND', 'this version of the secret is deleted', answer.status);
        }
        return {
          content,
          // Without a lease the duration is only advice.
          ttlMs: leaseId === '' || leaseSeconds === 0 ? undefined : leaseSeconds * 1000,
          refreshWithinMs: session.renewalWithinMs,
        };
      },
    };
  },
});
