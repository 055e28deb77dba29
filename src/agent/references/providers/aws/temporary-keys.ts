import { z } from 'zod';
import type { Credential } from '../../cached-credential.ts';
import type { ProviderMeans } from '../../provider.ts';
import type { AwsKeys } from './signature.ts';

export type Means = Pick<ProviderMeans, 'http' | 'epochMs' | 'onCredential'>;

/** Credentials as containers, metadata services and the Security Token Service return them. */
export const TemporaryKeys = z.object({
  AccessKeyId: z.string().min(1),
  SecretAccessKey: z.string().min(1),
  Token: z.string().min(1),
  Expiration: z.iso.datetime({ offset: true }),
});
type TemporaryKeys = z.output<typeof TemporaryKeys>;

export function credentialFrom(keys: TemporaryKeys, { epochMs, onCredential }: Means): Credential<AwsKeys> {
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token: sessionToken } = keys;
  onCredential(secretAccessKey);
  onCredential(sessionToken);
  return {
    value: { accessKeyId, secretAccessKey, sessionToken },
    lifeMs: Math.max(0, Date.parse(keys.Expiration) - epochMs()),
  };
}

/** Domain of the public endpoints of a region. */
export function domainOf(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
}
