import { setImmediate } from 'node:timers/promises';
import type { Store } from '../store.ts';
import { label, type Subject } from './exposition.ts';
import type { LocationTotals, MetricsSubject } from './store.ts';

/** Which checks are asked for. */
export interface Scope {
  /** Absent: of all accounts. */
  readonly accountId: string | undefined;
  /** Checks with one of them; all when empty. */
  readonly tags: readonly string[];
}

/** What an answer holds at most. */
export const mostChecks = 20_000;
const mostTagLabels = 20;
const mostTagKeys = 60;
const longestTagList = 500;
const checksPerRead = 500;

export interface Subjects {
  readonly subjects: readonly Subject[];
  /** Whether there are more checks than one answer holds. */
  readonly isCut: boolean;
}

/**
 * The checks of a scope with their labels, by id.
 *
 * @param nameLabel what the label with the name of a check is called.
 */
export async function subjectsOf(
  store: Pick<Store, 'checkTotals'>,
  scope: Scope,
  totals: ReadonlyMap<string, readonly LocationTotals[]>,
  nameLabel: 'name' | 'instance',
): Promise<Subjects> {
  const rows: MetricsSubject[] = [];
  const tags = new Map<string, string[]>();
  for (let after = ''; rows.length <= mostChecks; ) {
    const read = await store.checkTotals.subjectsAfter(after, scope, checksPerRead);
    rows.push(...read);
    for (const [id, own] of await store.checkTotals.tagsOf(read.map(({ id }) => id))) tags.set(id, own);
    const last = read.at(-1);
    if (!last || read.length < checksPerRead) break;
    after = last.id;
    await setImmediate();
  }
  const shown = rows.slice(0, mostChecks);
  const keys = tagKeys(tags.values());
  const subjects = shown.map((check): Subject => {
    const labels = `${label('check', check.id)},${label(nameLabel, check.name)}`;
    return {
      check,
      labels,
      infoLabels: infoLabels(check, tags.get(check.id) ?? [], keys),
      places: (totals.get(check.id) ?? []).map((one) => ({
        labels: `${labels},${label('location', one.location)}`,
        totals: one.totals,
        last: one.totals.last,
      })),
    };
  });
  return { subjects, isCut: rows.length > mostChecks };
}

/** A tag such as `env:prod` or `env=prod` as the name of a label and its value. */
function tagLabel(tag: string): readonly [key: string, value: string] | undefined {
  const [, key, value] = /^([A-Za-z0-9_.-]{1,60})[:=](.+)$/s.exec(tag) ?? [];
  if (key === undefined || value === undefined) return undefined;
  return [`tag_${key.toLowerCase().replaceAll(/[^a-z0-9]/g, '_')}`, value];
}

/** The first names of labels in the order of the alphabet: the same in every answer. */
function tagKeys(all: Iterable<readonly string[]>): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const tags of all) {
    for (const tag of tags) {
      const [key] = tagLabel(tag) ?? [];
      if (key !== undefined) keys.add(key);
    }
  }
  return new Set([...keys].sort().slice(0, mostTagKeys));
}

function infoLabels(check: MetricsSubject, tags: readonly string[], keys: ReadonlySet<string>): string {
  const ofTags = new Map<string, string>();
  for (const tag of tags) {
    const [key, value] = tagLabel(tag) ?? [];
    if (key === undefined || value === undefined || !keys.has(key) || ofTags.has(key)) continue;
    if (ofTags.size < mostTagLabels) ofTags.set(key, value);
  }
  let list = ',';
  for (const tag of tags) if (list.length + tag.length < longestTagList) list += `${tag},`;
  return [
    label('account', check.account_id),
    label('type', check.check_type),
    label('group', check.group_name ?? ''),
    ...(check.target_host === null ? [] : [label('target', check.target_host)]),
    ...(tags.length === 0 ? [] : [label('tags', list)]),
    ...Array.from(ofTags, ([key, value]) => label(key, value)),
  ].join(',');
}
