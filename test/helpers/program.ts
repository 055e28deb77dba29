import { fileURLToPath } from 'node:url';

/** The program as it is in the sources: what is preloaded into it shares their modules. */
export const sourceProgram = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

/**
 * The program that tests start as a process of its own: compiled, as images have it, where vitest's global setup has compiled
 * it; else the sources.
 */
export const program = process.env.PICKET_TEST_PROGRAM ?? sourceProgram;
