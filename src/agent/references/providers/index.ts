import type { SecretProvider } from '../provider.ts';
import { aws } from './aws/provider.ts';
import { azure } from './azure/provider.ts';
import { exec } from './exec/provider.ts';
import { file } from './file/provider.ts';
import { gcp } from './gcp/provider.ts';
import { vault } from './vault/provider.ts';

/** All providers of secrets. Adding one takes a line here and its folder. */
export const providers: readonly SecretProvider[] = [file, exec, vault, aws, azure, gcp];

const byName = new Map(providers.map((provider) => [provider.name, provider]));

export function findProvider(name: string): SecretProvider | undefined {
  return byName.get(name);
}
