import { createRequire } from 'node:module';
import { join } from 'node:path';
import { programDirectory } from '../sandbox.ts';
import type { Runtime } from './runtimes.ts';

/**
 * Whether scripts find the modules of a runtime compiled by this version of Node and of Picket (ADR 51). Otherwise each run compiles
 * them itself.
 */
export function hasCurrentCode({ modulesDirectory }: Pick<Runtime, 'modulesDirectory'>): boolean {
  const program = createRequire(import.meta.url)(join(programDirectory, 'compiled-code.cjs')) as {
    isCurrent(modulesDirectory: string): boolean;
  };
  return program.isCurrent(modulesDirectory);
}
