import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The program as it is in the sources. */
const sourceProgram = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

/**
 * The program that tests start as a process of its own: compiled, as images have it, where vitest's global setup has compiled
 * it; else the sources.
 */
export const program = process.env.PICKET_TEST_PROGRAM ?? sourceProgram;

/** Preloaded into the program, it lets its checks leave artifacts. */
export const leaveArtifacts =
  process.env.PICKET_TEST_PROGRAM === undefined
    ? fileURLToPath(new URL('./agent/fixtures/leave-artifacts.mjs', import.meta.url))
    : join(dirname(program), 'leave-artifacts.js');

/** What every process of the program has in its environment: where programs are found, and what Node keeps of compiled modules. */
export const programEnvironment: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? '',
  ...(process.env.NODE_COMPILE_CACHE === undefined
    ? {}
    : { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
};
