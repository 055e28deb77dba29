import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { z } from 'zod';
import { EventLines } from '../pool/event-lines.ts';
import type { Sandbox } from '../sandbox.ts';
import { readLine } from './events.ts';
import { leftFile } from './left-files.ts';

/** Each secret slows the search for secrets down. */
export const maxSecrets = 1000;
/** Maximum total length of the secrets, in characters. */
export const maxSecretsLength = 256 * 1024;

const maxLineBytes = 1024 * 1024;
const secretStart = /^\{"at":\d+,"event":"secret"/;
const Secret = z.object({ event: z.literal('secret'), name: z.string(), value: z.string() });

/** The content of a run's file of notes. */
export interface LeftNotes {
  /** Up to the limit; without secrets. */
  readonly lines: readonly string[];
  /** Values that the run assigned to secret variables; all of them, wherever they are in the file. */
  readonly secrets: readonly { readonly name: string; readonly value: string }[];
  /** True if some secrets are unknown, so that nothing that may contain one may leave. */
  readonly hasTooManySecrets: boolean;
}

/** @param maxBytes limit for the lines without a secret. */
export async function leftNotes(directory: string, path: string, maxBytes: number): Promise<LeftNotes> {
  const file = await leftFile(directory, path);
  const handle = file && (await open(file.path, constants.O_RDONLY | constants.O_NOFOLLOW));
  return readNotes(handle, maxBytes);
}

/** The secrets of a program that runs. */
export class RunningSecrets {
  readonly #sandbox: Pick<Sandbox, 'open'>;
  readonly #path: string;
  #isOver = false;

  constructor(sandbox: Pick<Sandbox, 'open'>, path: string) {
    this.#sandbox = sandbox;
    this.#path = path;
  }

  /**
   * The values that the program has assigned to secret variables so far; undefined if some of them are unknown, or the
   * program is over. A program notes a value before it can print it.
   */
  async soFar(): Promise<LeftNotes['secrets'] | undefined> {
    if (this.#isOver) return undefined;
    try {
      const { secrets, hasTooManySecrets } = await readNotes(await this.#sandbox.open(this.#path), 0);
      return hasTooManySecrets || this.#isOver ? undefined : secrets;
    } catch {
      // Its code replaced the file.
      return undefined;
    }
  }

  /** The program is over: its folder may soon belong to another. */
  end(): void {
    this.#isOver = true;
  }
}

async function readNotes(handle: FileHandle | undefined, maxBytes: number): Promise<LeftNotes> {
  const lines: string[] = [];
  const secrets = new Map<string, { readonly name: string; readonly value: string }>();
  let keptBytes = 0;
  let secretsLength = 0;
  let hasTooManySecrets = false;
  const split = new EventLines(maxLineBytes, (line) => {
    if (!secretStart.test(line)) {
      keptBytes += line.length;
      if (keptBytes <= maxBytes && line !== '') lines.push(line);
      return;
    }
    const secret = readLine(Secret, line);
    const key = secret && JSON.stringify([secret.name, secret.value]);
    if (key === undefined)
      hasTooManySecrets = true; // too long for a line
    else if (!secrets.has(key)) {
      secretsLength += secret?.value.length ?? 0;
      hasTooManySecrets ||= secrets.size === maxSecrets || secretsLength > maxSecretsLength;
      if (secret && !hasTooManySecrets) secrets.set(key, secret);
    }
  });
  if (handle) {
    for await (const chunk of handle.createReadStream()) {
      split.add(chunk as Buffer);
      if (hasTooManySecrets) break;
    }
    split.end();
  }
  return { lines, secrets: [...secrets.values()], hasTooManySecrets };
}
