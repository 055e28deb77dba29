import type { SecretProvider } from '../provider.ts';
import { exec } from './exec/provider.ts';
import { file } from './file/provider.ts';
import { vault } from './vault/provider.ts';

/** All providers of secrets. Adding one takes a line here and its folder. */
export const providers: readonly SecretProvider[] = [file, exec, vault];

const byName = new Map(providers.map((provider) => [provider.name, provider]));

export function findProvider(name: string): SecretProvider | undefined {
  return byName.get(name);
}
