import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { LruMap } from '@picket/lib/lru.ts';
import type { z } from 'zod';

/** Of specifications as JSON; those that were read take a few times as much. */
const maxCharacters = 4_000_000;

/**
 * Reads specifications of checks with the schemas of their types. Checks repeat, and a specification takes longer to
 * read than to find again. Those that are kept are frozen: runs share them.
 */
export class KnownSpecs {
  readonly #known = new LruMap<string, Record<string, unknown>>(maxCharacters, (_spec, key) => key.length);

  read(type: CheckType, spec: unknown): z.ZodSafeParseResult<Record<string, unknown>> {
    const key = `${type.name} ${JSON.stringify(spec)}`;
    const known = this.#known.get(key);
    if (known) return { success: true, data: known };
    const read = type.spec.safeParse(spec) as z.ZodSafeParseResult<Record<string, unknown>>;
    if (read.success) this.#known.set(key, frozen(read.data));
    return read;
  }
}

function frozen<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
    for (const part of Object.values(value)) frozen(part);
    Object.freeze(value);
  }
  return value;
}
