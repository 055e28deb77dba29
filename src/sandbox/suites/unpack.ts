import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { programDirectory, type Sandbox, type SandboxedEnd } from '../sandbox.ts';
import { readLine } from '../scripts/events.ts';
import { managerNames } from './package-managers.ts';
import { suiteLimits } from './step.ts';
import { SuiteWishes } from './toolchain.ts';

const program = join(programDirectory, 'suite/unpack-bundle.mjs');

/** Limits of an unpacked archive: size in bytes, and number of entries. */
export const maxUnpackedBytes = 500 * 1024 * 1024;
export const maxUnpackedEntries = 20_000;

const timeoutMs = 120_000;

const Unpacked = z.object({
  ok: z.literal(true),
  entryCount: z.int(),
  fileBytes: z.int(),
  /** null without a lockfile. */
  manager: z.enum(managerNames).nullable(),
  /** The folder of the lockfile, relative to the suite. */
  installDirectory: z.string(),
  /** Hash of every file of the suite. */
  contentHash: z.string(),
  /** Variables that manifests and settings of package managers refer to. */
  namedVariables: z.array(z.string()),
  /** True if the archive includes its own dependencies. */
  hasModules: z.boolean(),
  /**
   * Whether the lockfile, manifests and settings alone decide what is installed. Then these files, and no other file of
   * the suite, lie in a folder of their own; `hash` is theirs, `variableNames` those that their installation may see.
   */
  sharing: z.union([
    z.object({
      hash: z.string(),
      variableNames: z.array(z.string()),
      /** Settings of pnpm name packages whose scripts run, or do not. */
      allowsScripts: z.boolean(),
    }),
    z.object({ problem: z.string() }),
  ]),
  /** Versions of programs that the suite asks for. */
  wishes: SuiteWishes,
});
export type UnpackedBundle = z.output<typeof Unpacked>;

const Answer = z.discriminatedUnion('ok', [
  Unpacked,
  z.object({ ok: z.literal(false), message: z.string() }),
]);

/**
 * Unpacks the archive of a suite inside its sandbox, with a program of ours and before any program of the customer
 * runs.
 *
 * @returns the facts about the suite; `problem` if the archive is not acceptable, `ended` if the program reached a
 * limit.
 * @throws SandboxUnavailable if the program cannot be started, and errors of the archive's stream.
 */
export async function unpackBundle(
  sandbox: Sandbox,
  options: {
    readonly bundle: Readable;
    readonly folder: string;
    readonly workingDirectory: string;
    /** For the files that decide a shared installation. */
    readonly sharedFolder: string;
    /** Names of the check's variables. */
    readonly variableNames: readonly string[];
    /** The Node executable that sandboxed code can access. */
    readonly nodePath: string;
    readonly signal: AbortSignal;
  },
): Promise<UnpackedBundle | { readonly problem: string } | { readonly ended: SandboxedEnd }> {
  const { bundle, signal } = options;
  let answer: z.output<typeof Answer> | undefined;
  let errorText = '';
  const job = {
    directory: join(sandbox.directory, options.folder),
    workingDirectory: options.workingDirectory,
    sharedDirectory: join(sandbox.directory, options.sharedFolder),
    variableNames: options.variableNames,
    maxBytes: maxUnpackedBytes,
    maxEntries: maxUnpackedEntries,
  };
  const running = sandbox.start({
    path: options.nodePath,
    args: [program, JSON.stringify(job)],
    environment: { LANG: 'C.UTF-8' },
    limits: suiteLimits(timeoutMs),
    onOutput: (stream, chunk) => {
      if (stream === 'stderr') errorText = (errorText + String(chunk)).slice(-2000);
    },
    onEvent: (line) => {
      answer ??= readLine(Answer, line);
    },
  });
  const kill = () => running.kill();
  signal.addEventListener('abort', kill);
  if (signal.aborted) kill();
  // The program may end before it has read everything: its answer or its exit then counts. Errors of the bundle itself
  // are reported here.
  const fed = finished(bundle, { writable: false });
  const piping = pipeline(bundle, running.input).catch(() => undefined);
  const outcome = await Promise.race([running.ended, fed.then(() => running.ended)]).catch(
    async (thrown: unknown) => {
      const isOver = answer !== undefined || signal.aborted;
      if (!isOver) running.kill();
      const ended = await running.ended;
      if (!isOver && answer === undefined) throw thrown;
      return ended;
    },
  );
  signal.removeEventListener('abort', kill);
  bundle.destroy();
  fed.catch(() => undefined);
  await piping;
  if (answer) return answer.ok ? answer : { problem: answer.message };
  if (outcome.reason === 'exited') {
    throw new Error(`the program that unpacks bundles failed (${outcome.exitCode}): ${errorText.trim()}`);
  }
  return { ended: outcome };
}

/** The library that the unpacking program loads from the agent's packages; scripts must be able to read it. */
export function unpackLibraryPath(): string {
  return createRequire(import.meta.url).resolve('tar-stream');
}
