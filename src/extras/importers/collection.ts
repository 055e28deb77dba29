import { frequencies, subMinutePeriodsSeconds } from '@picket/checks/contract/frequency.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { canonicalFile } from '@picket/cli/project/canonical.ts';
import { EnvironmentValue } from '@picket/cli/project/environment-values.ts';
import { type Definition, logicalIdOf } from '@picket/cli/project/project.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';
import { type Folder, kindIn } from '@picket/protocol/projects/kinds.ts';
import type { Loss } from './source.ts';

/** Result of an import: files, values that are not in them, and parts that could not be carried over. */
export interface Imported {
  readonly definitions: readonly Definition[];
  /** Secrets of the source, by their names in the files. */
  readonly values: Readonly<Record<string, string>>;
  readonly losses: readonly Loss[];
}

/** Where imported checks run. */
export interface ImportOptions {
  /** The slug of a private location. */
  readonly location: string;
}

/** Collects the files of an import. */
export class Collection {
  readonly losses: Loss[] = [];
  readonly location: string;
  readonly #definitions: Definition[] = [];
  readonly #names = new Map<Folder, Set<string>>();
  readonly #values: Record<string, string> = {};

  constructor({ location }: ImportOptions) {
    this.location = location;
  }

  /** @returns the name that other files use to refer to it. */
  add(folder: Folder, title: string, fields: Fields): string {
    const logicalId = this.reserve(folder, title);
    this.put(folder, logicalId, fields);
    return logicalId;
  }

  /** Reserves a name for a file that is added later. */
  reserve(folder: Folder, title: string): string {
    const taken = this.#names.get(folder) ?? new Set();
    const logicalId = logicalIdOf(title, taken);
    taken.add(logicalId);
    this.#names.set(folder, taken);
    return logicalId;
  }

  put(folder: Folder, logicalId: string, fields: Fields): void {
    this.#definitions.push({ folder, logicalId, fields });
  }

  /** Adds a file once, however often it is requested. */
  once(folder: Folder, title: string, fields: () => Fields): string {
    const logicalId = logicalIdOf(title, new Set());
    if (!this.#names.get(folder)?.has(logicalId)) this.add(folder, title, fields());
    return logicalId;
  }

  /** Placeholder in files for a secret of the source. */
  secret(name: string, value: string): EnvironmentValue {
    const base = name
      .replaceAll(/[^A-Za-z0-9]+/g, '_')
      .toUpperCase()
      .replace(/^(?=\d)/, '_');
    for (let count = 1; ; count += 1) {
      const variable = count === 1 ? base : `${base}_${count}`;
      if (Object.hasOwn(this.#values, variable) && this.#values[variable] !== value) continue;
      this.#values[variable] = value;
      return new EnvironmentValue(variable);
    }
  }

  finish(): Imported {
    return { definitions: this.#definitions, values: this.#values, losses: this.losses };
  }
}

/** Definitions as written to files: without defaults. */
export function shortened(definitions: readonly Definition[]): Definition[] {
  return definitions.map(({ folder, logicalId, fields }) => ({
    ...{ folder, logicalId },
    fields: withSecrets(canonicalFile(kindIn(folder), fields), fields) as Fields,
  }));
}

/** Restores values of the environment where the form without defaults has "" or no value. */
function withSecrets(canonical: unknown, written: unknown): unknown {
  if (written instanceof EnvironmentValue) return written;
  if (Array.isArray(written)) {
    const items = Array.isArray(canonical) ? canonical : [];
    const isSame = items.length === written.length;
    return isSame ? items.map((item, index) => withSecrets(item, written[index])) : canonical;
  }
  if (typeof written !== 'object' || written === null) return canonical;
  const base = typeof canonical === 'object' && canonical !== null ? { ...(canonical as Fields) } : {};
  let isThere = canonical !== undefined;
  for (const [key, value] of Object.entries(written)) {
    const inner = withSecrets(base[key], value);
    if (inner === undefined) continue;
    base[key] = inner;
    isThere = true;
  }
  return isThere ? base : undefined;
}

/** The closest supported frequency of a check type for an interval in seconds. */
export function frequencyOf(
  checkType: string,
  seconds: number,
): { readonly fields: Fields; readonly seconds: number } {
  const isShort = findCheckType(checkType)?.isSubMinuteAllowed === true;
  const periods = subMinutePeriodsSeconds.filter((one) => one <= Math.max(seconds, 10));
  const period = periods.at(-1) ?? 10;
  if (isShort && seconds < 60) return { fields: { frequency: 0, frequencyOffset: period }, seconds: period };
  const minutes = frequencies.filter((one) => one > 0 && one <= Math.max(seconds / 60, 1)).at(-1) ?? 1;
  return { fields: { frequency: minutes }, seconds: minutes * 60 };
}

/** Fields of a retry strategy with a constant delay. */
export function retries(count: number, waitSeconds: number): Fields {
  if (count <= 0) return { doubleCheck: false };
  return {
    doubleCheck: false,
    retryStrategy: {
      type: 'FIXED',
      maxRetries: Math.min(count, 10),
      baseBackoffSeconds: Math.min(waitSeconds, 600),
    },
  };
}

export interface Assertion {
  readonly source: string;
  readonly property?: string;
  readonly comparison: string;
  readonly target?: string;
  readonly regex?: string;
}

/** The maximum number of gaps between codes that are excluded with an assertion each. */
const mostGaps = 20;

/**
 * Assertions that hold for the codes of some ranges. All assertions must hold, so ranges with large gaps between them
 * cannot be expressed.
 *
 * @returns undefined in that case.
 */
export function statusAssertions(
  ranges: readonly (readonly [first: number, last: number])[],
): readonly Assertion[] | undefined {
  const [first] = ranges.map(([from]) => from).toSorted((one, other) => one - other);
  const last = Math.max(...ranges.map(([, to]) => to));
  if (first === undefined) return [];
  const source = 'STATUS_CODE';
  if (first === last) return [{ source, comparison: 'EQUALS', target: String(first) }];
  const gaps = Array.from({ length: last - first }, (_, index) => first + index).filter(
    (code) => !ranges.some(([from, to]) => from <= code && code <= to),
  );
  if (gaps.length > mostGaps) return undefined;
  return [
    { source, comparison: 'GREATER_THAN', target: String(first - 1) },
    { source, comparison: 'LESS_THAN', target: String(last + 1) },
    ...gaps.map((code) => ({ source, comparison: 'NOT_EQUALS', target: String(code) })),
  ];
}

/** Accepts any status. Without it a check fails from 400 on. */
export const anyStatus: Assertion = { source: 'STATUS_CODE', comparison: 'GREATER_THAN', target: '0' };
