import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { z } from 'zod';
import { EventLines } from '../pool/event-lines.ts';
import { readLine } from './events.ts';
import { leftFile } from './left-files.ts';

/** Each makes the search for secrets slower. */
export const maxSecrets = 1000;
/** What they may be long, all together, in characters. */
export const maxSecretsLength = 256 * 1024;

const maxLineBytes = 1024 * 1024;
const secretStart = /^\{"at":\d+,"event":"secret"/;
const Secret = z.object({ event: z.literal('secret'), name: z.string(), value: z.string() });

/** What a run wrote into its file of notes. */
export interface LeftNotes {
  /** As far as they fit; without secrets. */
  readonly lines: readonly string[];
  /** Values the run gave to variables whose values are secret; all of them, wherever they stand in the file. */
  readonly secrets: readonly { readonly name: string; readonly value: string }[];
  /** Not all of them are known, so nothing that may hold one may leave. */
  readonly hasTooManySecrets: boolean;
}

/** @param maxBytes of lines without a secret. */
export async function leftNotes(directory: string, path: string, maxBytes: number): Promise<LeftNotes> {
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
  const file = await leftFile(directory, path);
  if (file) {
    const handle = await open(file.path, constants.O_RDONLY | constants.O_NOFOLLOW);
    for await (const chunk of handle.createReadStream()) {
      split.add(chunk as Buffer);
      if (hasTooManySecrets) break;
    }
    split.end();
  }
  return { lines, secrets: [...secrets.values()], hasTooManySecrets };
}
