import { AppError } from '@picket/lib/errors.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';

/**
 * Replaces the names of snippets with their scripts: the account may have different ones.
 *
 * @throws AppError CHECK_FILE_INVALID if the file of a snippet does not exist, or the check also has a script.
 */
export function withSnippets(file: string, fields: Fields, snippets: ReadonlyMap<string, string>): Fields {
  const scripts = [
    ['setupSnippet', 'localSetupScript'],
    ['tearDownSnippet', 'localTearDownScript'],
  ] as const;
  const inlined = scripts.flatMap(([field, script]) => {
    const name = fields[field];
    if (name === undefined || name === null) return [];
    const text = snippets.get(String(name));
    const reason =
      text === undefined
        ? 'only a folder with picket.yaml has its snippets'
        : fields[script]
          ? `cannot be tested together with ${script}: only a deployed check runs both`
          : undefined;
    if (reason !== undefined) throw new AppError('CHECK_FILE_INVALID', `${file}: ${field}: ${reason}`);
    return [[script, text] as const];
  });
  return { ...fields, ...Object.fromEntries(inlined) };
}
