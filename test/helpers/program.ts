import { fileURLToPath } from 'node:url';

/** The program as it is in the sources: what is preloaded into it shares their modules. */
export const sourceProgram = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

/**
 * The program that tests start as a process of its own: compiled, as images have it, where vitest's global setup has compiled
 * it; else the sources.
 */
export const program = process.env.PICKET_TEST_PROGRAM ?? sourceProgram;

/** What every process of the program has in its environment: where programs are found, and what Node keeps of compiled modules. */
export const programEnvironment: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? '',
  ...(process.env.NODE_COMPILE_CACHE === undefined
    ? {}
    : { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
};
