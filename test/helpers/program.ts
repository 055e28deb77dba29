import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The program's source entry point. */
const sourceProgram = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

/**
 * The program that tests start as a process: compiled, as in images, if vitest's global setup has compiled it;
 * otherwise the sources.
 */
export const program = process.env.PICKET_TEST_PROGRAM ?? sourceProgram;

/** Preloaded into the program, it lets checks leave artifacts. */
export const leaveArtifacts =
  process.env.PICKET_TEST_PROGRAM === undefined
    ? fileURLToPath(new URL('./agent/fixtures/leave-artifacts.mjs', import.meta.url))
    : join(dirname(program), 'leave-artifacts.js');

/** The base environment of every process of the program: PATH, and Node's compile cache. */
export const programEnvironment: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? '',
  ...(process.env.NODE_COMPILE_CACHE === undefined
    ? {}
    : { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
};
