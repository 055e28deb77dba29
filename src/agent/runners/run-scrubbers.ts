import type { Outcome } from '@picket/checks/contract/outcome.ts';
import { allEntries, type RunLog } from '@picket/checks/contract/run-log.ts';
import { SecretFinder } from '@picket/checks/secrets/secret-finder.ts';
import { credentialHeaderShapes } from '@picket/checks/secrets/shapes/credentials/credential-header-shape.ts';
import { userInfoShapes } from '@picket/checks/secrets/shapes/credentials/user-info-shape.ts';
import { LruMap } from '@picket/lib/lru.ts';
import { FileScrubber } from '../delivery/artifacts/artifact-scrubber.ts';
import type { RunOrder } from '../run/contracts.ts';
import { secretsOf } from '../run/run-variables.ts';
import { Scrubber } from '../scrub/scrubber.ts';
import { seenCredentials } from '../scrub/seen-credentials.ts';

const maxCachedScrubbers = 200;

/** The scrubbers of a thread. They are kept, because checks repeat and share secrets. */
export class RunScrubbers {
  /** Removes the secrets of the agent itself. */
  readonly own: Scrubber;
  readonly ownSecrets: readonly string[];
  readonly #kept = new LruMap<string, Scrubber>(maxCachedScrubbers);

  constructor(ownSecrets: readonly string[]) {
    this.ownSecrets = ownSecrets;
    this.own = new Scrubber(ownSecrets);
  }

  of(order: RunOrder): RunScrubber {
    return new RunScrubber(order, this);
  }

  /** Removes these secrets and the agent's own. */
  for(secrets: readonly string[]): Scrubber {
    if (secrets.length === 0) return this.own;
    return this.#kept.getOrMake(
      JSON.stringify(secrets),
      () => new Scrubber([...this.ownSecrets, ...secrets]),
    );
  }
}

/** Removes the secrets of one run. */
export class RunScrubber {
  readonly #order: RunOrder;
  readonly #all: RunScrubbers;
  #secrets: readonly string[] | undefined;
  #known: Scrubber | undefined;

  constructor(order: RunOrder, all: RunScrubbers) {
    this.#order = order;
    this.#all = all;
  }

  /** For the secrets that are known before the run. */
  get known(): Scrubber {
    this.#known ??= this.#all.for(this.#input());
    return this.#known;
  }

  /** The same, and the values that became known in the run: they belong to this run alone. */
  with(found: readonly string[]): Scrubber {
    if (found.length === 0) return this.known;
    return new Scrubber([...this.#all.ownSecrets, ...this.#input(), ...found]);
  }

  /** Files contain headers and URLs in formats (HAR, logs) that a report's own fields do not have. */
  forFiles(found: readonly string[]): FileScrubber {
    const secrets = [...this.#all.ownSecrets, ...this.#input(), ...found];
    return new FileScrubber(
      () => new SecretFinder(secrets, [...credentialHeaderShapes(), ...userInfoShapes()]),
    );
  }

  #input(): readonly string[] {
    this.#secrets ??= secretsOf(this.#order);
    return this.#secrets;
  }
}

/** Whether the detail is the only text of a run's report that comes from outside. */
export function isDetailAlone({ failure, errorMessages, secrets }: Outcome<unknown>, log: RunLog): boolean {
  if (failure || errorMessages.length > 0 || (secrets?.length ?? 0) > 0) return false;
  return log.isEmpty;
}

/** Secrets that the run itself declared, and the credentials in its headers. */
export function secretsSeen(
  { secrets, detail, failure, errorMessages }: Outcome<unknown>,
  log: RunLog,
): string[] {
  const texts = [failure?.message ?? '', ...errorMessages, ...allEntries(log).map(({ msg }) => msg)];
  try {
    texts.push(JSON.stringify(detail) ?? '');
  } catch (thrown) {
    // A detail that cannot be serialized is not sent.
    if (!(thrown instanceof RangeError || thrown instanceof TypeError)) throw thrown;
  }
  return [...new Set([...(secrets ?? []), ...seenCredentials(texts)])];
}
