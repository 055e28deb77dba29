import { createHash } from 'node:crypto';
import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import { LruMap } from '@picket/lib/lru.ts';
import type { PublicKey } from '@picket/lib/signing/signing-keys.ts';
import type { LeasedRun } from '@picket/protocol/agent/agent.ts';
import {
  type Distrust,
  type DistrustReason,
  distrustReasons,
  judgeRun,
  olderVersion,
} from '@picket/protocol/signing/check-signature.ts';
import { judgedText, restrictedTo, type Statement } from '@picket/protocol/signing/signed-run.ts';
import { KnownVersions } from './known-versions.ts';

const advice =
  'The agents of this location run only signed checks: sign it with "picket deploy --sign" and a key in TRUSTED_KEYS.';

const maxAccepted = 2000;

/** A run that was accepted: its statement, and until when, in milliseconds since 1970. */
interface Accepted {
  readonly statement: Statement;
  readonly endsAt: number;
}

/** Keys that this agent trusts, as it reports them in claims; null: it runs all checks. Revoked ones are not among them. */
export function claimedKeys(
  keys: readonly PublicKey[],
  revokedIds: readonly string[],
): { id: string; notAfter: number | null }[] | null {
  if (keys.length === 0) return null;
  return keys.filter(({ id }) => !revokedIds.includes(id)).map(({ id, notAfter }) => ({ id, notAfter }));
}

/**
 * Decides which runs this agent accepts. With TRUSTED_KEYS, only those that the holder of one of the keys signed, in
 * the newest version that agents of the location have seen, and without anything that was not signed. The service
 * composes runs, so it is the one that is not trusted here: times are those of the host's clock.
 */
export class Trust {
  readonly #keys: readonly PublicKey[];
  readonly #revoked: ReadonlySet<string>;
  readonly #versions: KnownVersions | undefined;
  readonly #clock: Pick<Clock, 'wallMs'>;
  readonly #log: Logger;
  /** Checks repeat: each version is verified once, by the digest of everything that is judged. */
  readonly #accepted = new LruMap<string, Accepted>(maxAccepted);
  readonly #refused = new Map<DistrustReason, number>(distrustReasons.map((reason) => [reason, 0]));

  /**
   * @param revokedIds keys that are not trusted, even if they are among `keys`.
   * @param folder where versions are kept, and the tag of the location there.
   */
  constructor(
    keys: readonly PublicKey[],
    {
      revokedIds = [],
      clock,
      log,
      folder,
    }: {
      readonly revokedIds?: readonly string[];
      readonly clock: Pick<Clock, 'wallMs'>;
      readonly log: Logger;
      readonly folder: { readonly path: string; readonly tag: string };
    },
  ) {
    this.#keys = keys;
    this.#revoked = new Set(revokedIds);
    this.#clock = clock;
    this.#log = log;
    this.#versions = keys.length === 0 ? undefined : new KnownVersions(folder.path, folder.tag, log);
    if (this.#versions) {
      const shown = { trustedKeys: claimedKeys(keys, revokedIds), revokedKeys: revokedIds };
      log.info(shown, 'the agent runs only signed checks');
    }
  }

  /** Refused runs since the start, by reason. */
  get refusals(): ReadonlyMap<DistrustReason, number> {
    return this.#refused;
  }

  /** Returns the run as it may be executed, or why not. */
  judge(run: LeasedRun): { readonly run: LeasedRun } | { readonly distrust: Distrust } {
    if (!this.#versions) return { run };
    const text = createHash('sha256').update(judgedText(run)).digest('base64');
    const now = this.#clock.wallMs();
    let accepted = this.#accepted.get(text);
    if (!accepted || now >= accepted.endsAt) {
      const judged = judgeRun(run, this.#keys, now, this.#revoked);
      if ('distrust' in judged) return this.#refuse(run, judged.distrust);
      accepted = { statement: judged.statement, endsAt: judged.endsAt };
      this.#accepted.set(text, accepted);
    }
    const seen = this.#versions.newerThan(accepted.statement);
    if (seen === undefined) return { run: restrictedTo(accepted.statement, run) };
    return this.#refuse(run, olderVersion(accepted.statement, seen));
  }

  #refuse(run: LeasedRun, distrust: Distrust): { readonly distrust: Distrust } {
    const { reason, keyId, changedFields } = distrust;
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
    this.#log.warn(
      { runId: run.runId, checkId: run.check.id, reason, keyId, changedFields },
      'run refused: the check is not signed with a trusted key',
    );
    return { distrust: { ...distrust, message: `${distrust.message} ${advice}` } };
  }
}
