import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Scrubber } from '../scrub/scrubber.ts';
import { SecretHttp } from './http.ts';
import { ReferenceProblem } from './problem.ts';
import type { Content } from './provider.ts';
import { findProvider } from './providers/index.ts';
import { type SecretReference, valueIn } from './reference.ts';
import { SecretPlace } from './secret-place.ts';
import type { ReferenceAccess } from './settings.ts';

/** Earlier values of a secret are masked this long, since targets may still send them, and this many of them. */
const earlierMs = 3_600_000;
const maxEarlierValues = 10;

/** A secret that a run needs and that is not available. */
export interface UnavailableSecret {
  readonly name: string;
  readonly provider: string;
  readonly problem: ReferenceProblem;
}

/** The secrets of one run. */
export interface RunSecrets {
  readonly values: Readonly<Record<string, string>>;
  /** Values to mask in addition to these. */
  readonly others: readonly string[];
  /** Why values are missing, by name. */
  readonly unavailable: readonly UnavailableSecret[];
}

export interface ReferenceState {
  readonly name: string;
  readonly provider: string;
  readonly isAvailable: boolean;
  /** Time since the last successful fetch; null before the first. */
  readonly ageMs: number | null;
  readonly reason: string | null;
  readonly message: string | null;
}

export interface ReferencesOptions {
  readonly access: ReferenceAccess;
  readonly clock: Clock;
  readonly log: Logger;
  /** Milliseconds since the epoch, by the best clock that the agent knows. */
  readonly epochMs: () => number;
  /**
   * Learns each new value and each credential, before any run gets the value, and removes them from messages of
   * providers.
   */
  readonly scrubber: Pick<Scrubber, 'learn' | 'text'>;
  /** Called after each fetch of a place. */
  readonly onFetch?: ((provider: string, outcome: 'ok' | 'failed') => void) | undefined;
}

/**
 * The secrets whose values live elsewhere: what the `SECRET_FROM_*` variables of the agent declare. Fetches them, keeps
 * them current, and gives them to runs. Nothing that comes from the service decides what is fetched.
 */
export class SecretReferences implements AsyncDisposable {
  readonly #options: ReferencesOptions;
  readonly #http: SecretHttp;
  readonly #places = new Map<string, SecretPlace>();
  /** The value of each secret in the last content of its place, or why there is no value. */
  readonly #found = new Map<string, string | ReferenceProblem>();
  /** Values that a secret had before, the newest first, and when each was replaced. */
  readonly #earlier = new Map<string, readonly { readonly value: string; readonly atMs: number }[]>();
  readonly #failing = new Set<string>();

  constructor(options: ReferencesOptions) {
    this.#options = options;
    const { references, proxy } = options.access;
    this.#http = new SecretHttp(proxy);
    for (const name of new Set(references.map(({ provider }) => provider))) this.#openPlaces(name);
  }

  /** Whether any secret is declared by reference. */
  get isEmpty(): boolean {
    return this.#places.size === 0;
  }

  /** Begins to fetch in the background. */
  start(): void {
    for (const place of this.#places.values()) place.start();
  }

  /** The secrets as a run gets them now. Waits for those whose first fetch has not ended. */
  async current(): Promise<RunSecrets> {
    const values: Record<string, string> = {};
    const unavailable: UnavailableSecret[] = [];
    const { references } = this.#options.access;
    const unknown = [...this.#places.values()].filter((place) => place.isUnknown);
    if (unknown.length > 0) await Promise.all(unknown.map((place) => place.fetched()));
    for (const reference of references) {
      const { name, provider } = reference;
      const found = this.#valueOf(reference);
      if (typeof found === 'string') values[name] = found;
      else unavailable.push({ name, provider, problem: found });
    }
    const sinceMs = this.#options.clock.monotonicMs() - earlierMs;
    const others = [...this.#earlier.values()]
      .flat()
      .flatMap(({ value, atMs }) => (atMs > sinceMs ? [value] : []));
    return { values, others, unavailable };
  }

  /** The state of each secret, for metrics and `/health`. */
  states(): readonly ReferenceState[] {
    const nowMs = this.#options.clock.monotonicMs();
    return this.#options.access.references.map((reference) => {
      const { name, provider } = reference;
      const place = this.#places.get(keyOf(reference));
      const { fetchedAtMs, problem } = place?.state ?? {};
      const found = place?.usable === undefined ? undefined : this.#found.get(name);
      const why = found instanceof ReferenceProblem ? found : problem;
      return {
        name,
        provider,
        isAvailable: typeof found === 'string',
        ageMs: fetchedAtMs === undefined ? null : Math.round(nowMs - fetchedAtMs),
        reason: why?.reason ?? null,
        message: why?.message ?? null,
      };
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#places.values()].map((place) => place.stop()));
    await this.#http[Symbol.asyncDispose]();
  }

  #openPlaces(name: string): void {
    const { access, clock, scrubber, epochMs } = this.#options;
    const provider = findProvider(name);
    const opened = provider?.open(access.variables, {
      http: this.#http,
      ...{ clock, epochMs, environment: access.environment },
      onCredential: (secret) => this.#mask(secret),
    });
    if (!provider || !opened) return;
    const own = access.references.filter((reference) => reference.provider === name);
    for (const place of new Set(own.map((reference) => reference.place))) {
      const key = keyOf({ provider: name, place });
      this.#places.set(
        key,
        new SecretPlace({
          ...{ provider: opened, place, clock, maxStaleMs: access.maxStaleMs },
          intervalMs: provider.intervalMs ?? access.refreshMs,
          clean: (text) => scrubber.text(text),
          onFetched: (content) => this.#fetched(key, content),
          onFailed: (problem) => this.#failed(key, problem),
        }),
      );
    }
  }

  #fetched(key: string, content: Content): void {
    const { log, onFetch } = this.#options;
    this.#learn(key, content);
    const [{ provider } = { provider: '' }] = this.#at(key);
    onFetch?.(provider, 'ok');
    if (this.#failing.delete(key))
      log.info({ provider, names: this.#namesAt(key) }, 'secret is available again');
  }

  #failed(key: string, problem: ReferenceProblem): void {
    const [{ provider } = { provider: '' }] = this.#at(key);
    this.#options.onFetch?.(provider, 'failed');
    this.#warnOnce(key, { provider, names: this.#namesAt(key) }, problem);
  }

  #valueOf(reference: SecretReference): string | ReferenceProblem {
    const place = this.#places.get(keyOf(reference));
    if (!place) return new ReferenceProblem('NOT_DECLARED', 'the agent does not know this provider');
    const found = place.usable === undefined ? place.state.problem : this.#found.get(reference.name);
    return found ?? new ReferenceProblem('FAILED', 'the agent stops');
  }

  /** A scrubber forgets what it learned long ago, so the values of now are learned again with each new secret. */
  #mask(secret: string): void {
    const current = [...this.#found.values()].filter((found) => typeof found === 'string');
    this.#options.scrubber.learn([...current, secret]);
  }

  /** Takes the values out of a new content, and registers them for masking. */
  #learn(key: string, content: Content): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const { name, field, provider } of this.#at(key)) {
      const [before, found] = [this.#found.get(name), valueOrProblem(content, field)];
      if (found === before) continue;
      if (typeof found === 'string') {
        if (this.#failing.delete(name)) {
          this.#options.log.info({ provider, names: [name] }, 'secret is available again');
        }
        this.#mask(found);
      } else this.#warnOnce(name, { provider, names: [name] }, found);
      if (typeof before === 'string') {
        const earlier = [{ value: before, atMs: nowMs }, ...(this.#earlier.get(name) ?? [])];
        this.#earlier.set(name, earlier.slice(0, maxEarlierValues));
      }
      this.#found.set(name, found);
    }
  }

  /** Logs the first of several failures in a row. */
  #warnOnce(
    key: string,
    what: { readonly provider: string; readonly names: readonly string[] },
    { reason, status, message }: ReferenceProblem,
  ): void {
    if (this.#failing.has(key)) return;
    this.#failing.add(key);
    this.#options.log.warn({ ...what, reason, status, problem: message }, 'secret cannot be fetched');
  }

  #at(key: string): SecretReference[] {
    return this.#options.access.references.filter((reference) => keyOf(reference) === key);
  }

  #namesAt(key: string): string[] {
    return this.#at(key).map(({ name }) => name);
  }
}

function keyOf({ provider, place }: Pick<SecretReference, 'provider' | 'place'>): string {
  return `${provider}:${place}`;
}

function valueOrProblem(content: Content, field: string | undefined): string | ReferenceProblem {
  try {
    return valueIn(content, field);
  } catch (thrown) {
    if (thrown instanceof ReferenceProblem) return thrown;
    throw thrown;
  }
}
