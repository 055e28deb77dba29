import { innermostIssues, problemOf } from '@picket/lib/json/issue-text.ts';
import { dictionary } from '@picket/lib/names/dictionary.ts';
import { findUnknownFields } from '@picket/lib/names/unknown-fields.ts';
import type { z } from 'zod';

/** A problem of a field in a file that people write. */
export interface FieldProblem {
  readonly path: readonly string[];
  readonly text: string;
}

/** Values for fields that people leave out, by the last name of the field. */
const examples = dictionary<string>({
  ...{
    url: 'https://example.com',
    hostname: 'example.com',
    port: '443',
    query: 'example.com',
    recordType: 'A',
  },
  ...{ codeBundlePath: './e2e', period: '1h', grace: '5m', prompt: 'Log in and open the cart' },
});

/** Unknown fields, with the name that was probably meant, and values that the schema refuses. */
export function fieldProblems(schema: z.ZodType, fields: unknown): FieldProblem[] {
  const unknown = findUnknownFields([schema], fields).map(({ path, nearest }) => ({
    path: path.map(String),
    text: `unknown field${nearest === undefined ? '' : `; did you mean "${nearest}"?`}`,
  }));
  const refused = (schema.safeParse(fields).error?.issues ?? []).flatMap(innermostIssues).map((issue) => {
    const path = issue.path.map(String);
    const [text, example] = [problemOf(issue), examples[path.at(-1) ?? '']];
    const isExampleUseful = text === 'is required' && example !== undefined;
    return { path, text: isExampleUseful ? `${text}, such as "${path.at(-1)}: ${example}"` : text };
  });
  return [...unknown, ...refused];
}
