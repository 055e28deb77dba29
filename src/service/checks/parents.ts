import { fieldError } from '@picket/platform/http/validation.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';

type Needed = Pick<Repositories, 'checks' | 'alertCauses'>;

/**
 * Stores the parents of a check. Previous parents may no longer exist.
 *
 * @param before its parents so far.
 * @throws AppError VALIDATION_FAILED, naming each parent that is not another check of the account, or depends on this
 *   one.
 */
export async function writeParents(
  repositories: Needed,
  check: { readonly id: string; readonly accountId: string },
  parentIds: readonly string[],
  before: readonly string[] = [],
): Promise<void> {
  if (parentIds.length + before.length === 0) return;
  const wanted = [...new Set(parentIds.map((id) => id.toLowerCase()))];
  const found = await repositories.checks.findMany(wanted);
  const known = wanted.filter((id) => found.get(id)?.accountId === check.accountId);
  const problems: { key: string; message: string }[] = [];
  for (const [index, id] of wanted.entries()) {
    const key = `parentCheckIds.${index}`;
    if (id === check.id) problems.push({ key, message: 'is the check itself' });
    else if (!known.includes(id)) {
      if (!before.includes(id)) problems.push({ key, message: `names no check: ${id}` });
    } else if (await dependsOn(repositories, id, check.id)) {
      problems.push({ key, message: `depends on this check itself: ${found.get(id)?.name}` });
    }
  }
  if (problems.length > 0) throw fieldError('payload', problems);
  await repositories.alertCauses.setParents(check.id, known);
}

async function dependsOn(repositories: Needed, id: string, other: string): Promise<boolean> {
  const seen = new Set([id]);
  for (let level = [id]; level.length > 0; ) {
    const parents = await repositories.alertCauses.parentsOf(level);
    level = [...new Set([...parents.values()].flat())].filter((parent) => !seen.has(parent));
    if (level.includes(other)) return true;
    for (const parent of level) seen.add(parent);
  }
  return false;
}
