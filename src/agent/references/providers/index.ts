import type { SecretProvider } from '../provider.ts';
import { exec } from './exec/provider.ts';
import { file } from './file/provider.ts';

/** All providers of secrets. Adding one takes a line here and its folder. */
export const providers: readonly SecretProvider[] = [file, exec];

const byName = new Map(providers.map((provider) => [provider.name, provider]));

export function findProvider(name: string): SecretProvider | undefined {
  return byName.get(name);
}
