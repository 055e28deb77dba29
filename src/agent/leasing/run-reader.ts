import { LruMap } from '@picket/lib/lru.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { LeasedRun } from '@picket/protocol/agent/agent.ts';
import type { z } from 'zod';

/** About 4 kB each. */
const maxChecks = 2000;

/** Fields that differ from one run of a check to the next. */
const OwnFields = lazySchema(() =>
  LeasedRun.schema.pick({
    runId: true,
    leaseNumber: true,
    resultId: true,
    slotAt: true,
    mayReportLater: true,
    attempt: true,
    mayBeRetried: true,
    sequenceId: true,
    checkRunId: true,
  }),
);

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Reads leased runs. Checks repeat: what is the same as in the last run of a check is compared with it, which takes a
 * tenth of the time that reading takes, and is shared with it.
 */
export class RunReader {
  readonly #last = new LruMap<string, { readonly raw: JsonObject; readonly run: LeasedRun }>(maxChecks);

  /** @param raw a run as JSON. Later runs share parts of the result, so it must not be changed. */
  read(raw: unknown): z.ZodSafeParseResult<LeasedRun> {
    const last = this.#lastOf(raw);
    if (last && isSameCheck(raw as JsonObject, last.raw)) {
      const own = OwnFields.safeParse(raw);
      if (own.success) return { success: true, data: { ...last.run, ...own.data } };
    }
    const run = LeasedRun.safeParse(raw);
    if (run.success) this.#last.set(run.data.check.id, { raw: raw as JsonObject, run: run.data });
    return run;
  }

  #lastOf(raw: unknown) {
    const id = (raw as { readonly check?: { readonly id?: unknown } } | null | undefined)?.check?.id;
    return typeof id === 'string' ? this.#last.get(id) : undefined;
  }
}

/** Whether two runs differ in their own fields alone. */
function isSameCheck(run: JsonObject, last: JsonObject): boolean {
  return haveSame(run, last, (name) => name in OwnFields.shape);
}

function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  return haveSame(one as JsonObject, other as JsonObject, () => false);
}

/** Compares the fields of two objects or arrays, without a list of their names: thousands are compared a second. */
function haveSame(one: JsonObject, other: JsonObject, isIgnored: (name: string) => boolean): boolean {
  let surplus = 0;
  for (const name in one) {
    surplus += 1;
    if (!Object.hasOwn(other, name)) return false;
    if (!isIgnored(name) && !isSameJson(one[name], other[name])) return false;
  }
  for (const _name in other) surplus -= 1;
  return surplus === 0;
}
