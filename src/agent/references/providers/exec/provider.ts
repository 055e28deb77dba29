import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { jsonOf } from '../../http.ts';
import { ReferenceProblem } from '../../problem.ts';
import { defineProvider } from '../../provider.ts';
import { outputOf } from './command.ts';

const list = z.array(z.string()).min(1);

/** A command: words separated by blanks, or a JSON list for arguments with blanks. There is no shell. */
function wordsOf(place: string): readonly string[] | undefined {
  if (!place.trimStart().startsWith('[')) return place.trim().split(/\s+/);
  const parsed = list.safeParse(jsonOf(place));
  return parsed.success ? parsed.data : undefined;
}

/** Output of a command on the host of the agent. */
export const exec = defineProvider({
  name: 'exec',
  form: 'exec:/COMMAND ARGUMENT …',
  settings: {},
  placeProblem: (place) => {
    const [program = ''] = wordsOf(place) ?? [];
    if (wordsOf(place) === undefined) return 'the list of the command and its arguments is not JSON';
    return isAbsolute(program) ? undefined : 'the path of the command must be absolute';
  },
  open: (_settings, { environment }) => ({
    async fetch(place, signal) {
      const [program, ...args] = wordsOf(place) ?? [];
      if (program === undefined) throw new ReferenceProblem('UNUSABLE', 'there is no command');
      return { content: await outputOf(program, args, environment, signal) };
    },
  }),
});
