import { LruMap } from '@picket/lib/lru.ts';
import { joined, type LabelSet, labelSet } from './exposition.ts';
import type { MetricsSubject } from './store.ts';

const mostTagLabels = 20;
const mostTagKeys = 60;
const longestTagList = 500;
/** As many checks as two responses contain. */
const keptChecks = 40_000;

/** The labels of a check. */
interface OfCheck {
  readonly labels: LabelSet;
  /** Additional labels of `picket_check_info`. */
  readonly infoLabels: LabelSet;
  at(location: string): LabelSet;
}

interface Known extends OfCheck {
  /** Source that the labels are derived from. */
  readonly source: string;
}

/** Labels of checks, cached between responses while their source does not change. */
export class SubjectLabels {
  readonly #nameLabel: 'name' | 'instance';
  readonly #known = new LruMap<string, Known>(keptChecks);
  #keys: ReadonlySet<string> = new Set();
  #keyList = '';

  /** @param nameLabel name of the label that holds the name of a check. */
  constructor(nameLabel: 'name' | 'instance') {
    this.#nameLabel = nameLabel;
  }

  /** Chooses the tags that become labels: the first in alphabetical order, the same in every response. */
  useKeys(all: Iterable<readonly string[]>): void {
    const keys = new Set<string>();
    for (const tags of all) {
      for (const tag of tags) {
        const [key] = tagLabel(tag) ?? [];
        if (key !== undefined) keys.add(key);
      }
    }
    const used = [...keys].sort().slice(0, mostTagKeys);
    this.#keys = new Set(used);
    this.#keyList = used.join();
  }

  of(check: MetricsSubject, tags: readonly string[]): OfCheck {
    const { name, account_id: account, check_type: type, group_name: group, target_host: target } = check;
    const source = JSON.stringify([name, account, type, group, target, tags, this.#keyList]);
    const known = this.#known.get(check.id);
    if (known?.source === source) return known;
    const labels = labelSet([
      ['check', check.id],
      [this.#nameLabel, name],
    ]);
    const places = new Map<string, LabelSet>();
    const made: Known = {
      source,
      labels,
      infoLabels: infoLabels(check, tags, this.#keys),
      at(location) {
        const before = places.get(location);
        if (before) return before;
        const place = joined(labels, labelSet([['location', location]]));
        places.set(location, place);
        return place;
      },
    };
    this.#known.set(check.id, made);
    return made;
  }
}

const tagLabels = new LruMap<string, readonly [key: string, value: string] | null>(10_000);

/** Splits a tag such as `env:prod` or `env=prod` into the name of a label and its value; null for other tags. */
function tagLabel(tag: string): readonly [key: string, value: string] | null {
  return tagLabels.getOrMake(tag, () => readTag(tag));
}

function readTag(tag: string): readonly [key: string, value: string] | null {
  const [, key, value] = /^([A-Za-z0-9_.-]{1,60})[:=](.+)$/s.exec(tag) ?? [];
  if (key === undefined || value === undefined) return null;
  return [`tag_${key.toLowerCase().replaceAll(/[^a-z0-9]/g, '_')}`, value];
}

function infoLabels(check: MetricsSubject, tags: readonly string[], keys: ReadonlySet<string>): LabelSet {
  const ofTags = new Map<string, string>();
  for (const tag of tags) {
    const [key, value] = tagLabel(tag) ?? [];
    if (key === undefined || value === undefined || !keys.has(key) || ofTags.has(key)) continue;
    if (ofTags.size < mostTagLabels) ofTags.set(key, value);
  }
  let list = ',';
  for (const tag of tags) if (list.length + tag.length < longestTagList) list += `${tag},`;
  return labelSet([
    ['account', check.account_id],
    ['type', check.check_type],
    ['group', check.group_name ?? ''],
    ...(check.target_host === null ? [] : [['target', check.target_host] as const]),
    ...(tags.length === 0 ? [] : [['tags', list] as const]),
    ...ofTags,
  ]);
}
