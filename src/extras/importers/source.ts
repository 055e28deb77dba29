import { isRecord } from '@picket/lib/json/record.ts';
/** A part of a source that could not be carried over: a field, and the reason. */
export interface Loss {
  /** For example `endpoints.3.ssh`. */
  readonly field: string;
  readonly reason: string;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * One object of a source. Each of its fields is either taken, or reported as lost, or, if no code read it, found by
 * `finish`: so the list of losses is complete, whatever a source contains.
 */
export class Source {
  readonly path: string;
  readonly #fields: Fields;
  readonly #losses: Loss[];
  readonly #seen = new Set<string>();
  readonly #children: Source[] = [];

  constructor(value: unknown, path: string, losses: Loss[]) {
    this.path = path;
    this.#losses = losses;
    this.#fields = isRecord(value) ? value : {};
    if (!isRecord(value) && !isEmpty(value)) this.#add('', 'its format differs from the documented one');
  }

  /** All its fields, read or not. */
  get keys(): readonly string[] {
    return Object.keys(this.#fields);
  }

  isSeen(key: string): boolean {
    return this.#seen.has(key);
  }

  /** Returns a value without taking it. */
  peek(key: string): unknown {
    return this.#fields[key];
  }

  /** Takes a value of any type, which is carried over. */
  take(key: string): unknown {
    this.#seen.add(key);
    return this.#fields[key];
  }

  /** Takes a text; numbers and booleans are converted. Undefined if absent or empty. */
  text(key: string): string | undefined {
    const value = this.take(key);
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    if (typeof value === 'string') return value === '' ? undefined : value;
    if (!isEmpty(value)) this.lose(key, 'it is not a string');
    return undefined;
  }

  /** Takes a number, also from a text. */
  number(key: string): number | undefined {
    const value = this.take(key);
    if (isEmpty(value)) return undefined;
    const number = typeof value === 'boolean' ? Number.NaN : Number(value);
    if (Number.isFinite(number)) return number;
    this.lose(key, 'it is not a number');
    return undefined;
  }

  /** Databases contain 0 and 1. */
  flag(key: string): boolean | undefined {
    const value = this.take(key);
    if (value === true || value === 1 || value === 'true' || value === '1') return true;
    if (value === false || value === 0 || value === 'false' || value === '0') return false;
    if (!isEmpty(value)) this.lose(key, 'it is not true or false');
    return undefined;
  }

  list(key: string): readonly unknown[] {
    const value = this.take(key);
    if (Array.isArray(value)) return value;
    if (!isEmpty(value)) this.lose(key, 'it is not a list');
    return [];
  }

  /** Takes a nested object. */
  child(key: string): Source {
    return this.#child(this.take(key), key);
  }

  /** Takes the objects of a list. */
  children(key: string): Source[] {
    return this.list(key).map((value, index) => this.#child(value, `${key}.${index}`));
  }

  /** Reports a field without a counterpart. */
  lose(key: string, reason: string): void {
    this.#seen.add(key);
    this.#add(key, reason);
  }

  /** Reports a field that is only partly carried over. */
  note(key: string, reason: string): void {
    this.#add(key, reason);
  }

  /** Skips fields that do not describe the monitoring: ids, dates, measurements. */
  skip(...keys: readonly string[]): void {
    for (const key of keys) this.#seen.add(key);
  }

  /** Reports a field as lost, unless its value matches the behaviour here. */
  expect(key: string, usual: readonly unknown[], reason: string): void {
    const value = this.take(key);
    if (!isEmpty(value) && !usual.some((one) => JSON.stringify(one) === JSON.stringify(value))) {
      this.#add(key, reason);
    }
  }

  /** Reports all fields that were not read. */
  finish(reason: (key: string) => string = () => 'Picket has nothing that corresponds to it'): void {
    for (const child of this.#children) child.finish(reason);
    for (const [key, value] of Object.entries(this.#fields)) {
      if (!this.#seen.has(key) && !isEmpty(value)) this.lose(key, reason(key));
    }
  }

  #child(value: unknown, key: string): Source {
    const child = new Source(value ?? {}, this.path === '' ? key : `${this.path}.${key}`, this.#losses);
    this.#children.push(child);
    return child;
  }

  #add(key: string, reason: string): void {
    const field = [this.path, key].filter((part) => part !== '').join('.');
    this.#losses.push({ field, reason });
  }
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isRecord(value)) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === '' || value === false || value === 0;
}
