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

/** Earlier values of a secret that are masked: targets may still send them. */
const maxKnownValues = 20;

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
  /** All values that a secret had, the newest first. */
  readonly #known = new Map<string, readonly string[]>();
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
    const found = await Promise.all(references.map((reference) => this.#valueOf(reference)));
    for (const [index, { name, provider }] of references.entries()) {
      const value = found[index];
      if (typeof value === 'string') values[name] = value;
      else if (value) unavailable.push({ name, provider, problem: value });
    }
    return { values, others: [...this.#known.values()].flat(), unavailable };
  }

  /** The state of each secret, for metrics and `/health`. */
  states(): readonly ReferenceState[] {
    const nowMs = this.#options.clock.monotonicMs();
    return this.#options.access.references.map((reference) => {
      const { name, provider } = reference;
      const place = this.#places.get(keyOf(reference));
      const { fetchedAtMs, problem } = place?.state ?? {};
      const content = place?.usable;
      const found = content === undefined ? problem : (fieldProblem(content, reference) ?? problem);
      return {
        name,
        provider,
        isAvailable: content !== undefined && fieldProblem(content, reference) === undefined,
        ageMs: fetchedAtMs === undefined ? null : Math.round(nowMs - fetchedAtMs),
        reason: found?.reason ?? null,
        message: found?.message ?? null,
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
      onCredential: (secret) => scrubber.learn([secret]),
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
    if (this.#failing.delete(key)) log.info({ provider, names: this.#namesAt(key) }, 'secret is available again');
  }

  #failed(key: string, problem: ReferenceProblem): void {
    const [{ provider } = { provider: '' }] = this.#at(key);
    this.#options.onFetch?.(provider, 'failed');
    this.#warnOnce(key, { provider, names: this.#namesAt(key) }, problem);
  }

  async #valueOf(reference: SecretReference): Promise<string | ReferenceProblem> {
    const place = this.#places.get(keyOf(reference));
    if (!place) return new ReferenceProblem('NOT_DECLARED', 'the agent does not know this provider');
    try {
      return valueIn(await place.content(), reference.field);
    } catch (thrown) {
      if (thrown instanceof ReferenceProblem) return thrown;
      throw thrown;
    }
  }

  /** Registers the values of a new content for masking. */
  #learn(key: string, content: Content): void {
    for (const reference of this.#at(key)) {
      const { name, field, provider } = reference;
      const problem = fieldProblem(content, reference);
      if (problem) {
        this.#warnOnce(name, { provider, names: [name] }, problem);
        continue;
      }
      this.#failing.delete(name);
      const value = valueIn(content, field);
      const known = this.#known.get(name) ?? [];
      if (known[0] === value) continue;
      this.#options.scrubber.learn([value]);
      this.#known.set(name, [value, ...known.filter((one) => one !== value)].slice(0, maxKnownValues));
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

/** Problem with a reference in a content that was fetched; undefined if its value is there. */
function fieldProblem(content: Content, { field }: SecretReference): ReferenceProblem | undefined {
  try {
    valueIn(content, field);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof ReferenceProblem) return thrown;
    throw thrown;
  }
}
