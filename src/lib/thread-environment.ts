import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

/** Node keeps compiled modules in a folder of its version below the one that NODE_COMPILE_CACHE names. */
const ownFolder = getCompileCacheDir();

/**
 * What threads and processes of ours that must not have our environment are given instead: only where Node keeps compiled modules, if
 * it keeps them. Without it each of them compiles anew what another one has compiled. Nothing that runs untrusted code has it.
 */
export const ownThreadEnvironment: Readonly<Record<string, string>> =
  ownFolder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(ownFolder) };
