import { allowedDomains } from '@picket/platform/config/custom-domains.ts';
import { DomainProof } from './domain-proof.ts';

/** Creates the proof of custom domains from the settings. */
export function configuredDomainProof(config: {
  readonly PUBLIC_URL?: string | undefined;
  readonly ARTIFACTS_URL?: string | undefined;
  readonly CUSTOM_DOMAINS: string;
}): DomainProof {
  const { PUBLIC_URL: publicUrl, ARTIFACTS_URL: artifactsUrl, CUSTOM_DOMAINS: setting } = config;
  return new DomainProof({ publicUrl, artifactsUrl, isAllowed: allowedDomains(setting) });
}
