import type { Clock } from '@picket/lib/clock.ts';
import { type SettingTree, type Values, valuesOf } from '@picket/lib/setting-tree.ts';
import type { SecretHttp } from './http.ts';

/** Content of a place: a text, or fields by name. */
export type Content = string | Readonly<Record<string, unknown>>;

export interface Fetched {
  readonly content: Content;
  /** Time after which the provider ends the value, in milliseconds; absent if it has no end. */
  readonly ttlMs?: number | undefined;
  /** Latest time of the next fetch, in milliseconds; absent if the usual interval will do. */
  readonly refreshWithinMs?: number | undefined;
}

/** Means that a provider needs. */
export interface ProviderMeans {
  readonly http: SecretHttp;
  readonly clock: Clock;
  /** Milliseconds since the epoch, by the best clock that the agent knows: signatures depend on it. */
  readonly epochMs: () => number;
  /** Environment of commands: that of the agent without its own keys. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Called with each credential that the provider obtains, before it is used: it must never be shown. */
  readonly onCredential: (secret: string) => void;
}

/** A provider with its settings. */
export interface OpenProvider {
  /** @throws ReferenceProblem if the place cannot be read. */
  fetch(place: string, signal: AbortSignal): Promise<Fetched>;
}

type Variables = Readonly<Record<string, unknown>>;

/** One kind of place from which secrets are read; see `providers/index.ts`. */
export interface SecretProvider {
  /** The word before the colon of a reference. */
  readonly name: string;
  /** Its form, for messages and documents. */
  readonly form: string;
  readonly settings: SettingTree;
  /** Whether every reference names a field, because a place always has fields. */
  readonly needsField: boolean;
  /** Time between two fetches if it is not that of the settings, in milliseconds. */
  readonly intervalMs: number | undefined;
  /** Problem with the form of a place, for a message; undefined if it is right. */
  placeProblem(place: string): string | undefined;
  /** Problems with the settings for these places, as sentences. */
  settingProblems(variables: Variables, places: readonly string[]): readonly string[];
  /** Credentials among the settings. */
  credentials(variables: Variables): readonly string[];
  /** Files that scripts must not read. */
  privatePaths(variables: Variables, places: readonly string[]): readonly string[];
  open(variables: Variables, means: ProviderMeans): OpenProvider;
}

interface ProviderDefinition<Tree extends SettingTree>
  extends Pick<SecretProvider, 'name' | 'form' | 'placeProblem'> {
  readonly settings: Tree;
  readonly needsField?: boolean;
  readonly intervalMs?: number;
  readonly settingProblems?: (values: Values<Tree>, places: readonly string[]) => readonly string[];
  readonly credentials?: (values: Values<Tree>) => readonly (string | undefined)[];
  readonly privatePaths?: (
    values: Values<Tree>,
    places: readonly string[],
  ) => readonly (string | undefined)[];
  readonly open: (values: Values<Tree>, means: ProviderMeans) => OpenProvider;
}

/** Makes a provider from its definition; its functions get the values of its settings by name. */
export function defineProvider<Tree extends SettingTree>(
  definition: ProviderDefinition<Tree>,
): SecretProvider {
  const { settings } = definition;
  const read = (variables: Variables) => valuesOf(settings, variables);
  return {
    name: definition.name,
    form: definition.form,
    settings,
    needsField: definition.needsField ?? false,
    intervalMs: definition.intervalMs,
    placeProblem: definition.placeProblem,
    settingProblems: (variables, places) => definition.settingProblems?.(read(variables), places) ?? [],
    credentials: (variables) => present(definition.credentials?.(read(variables))),
    privatePaths: (variables, places) => present(definition.privatePaths?.(read(variables), places)),
    open: (variables, means) => definition.open(read(variables), means),
  };
}

function present(texts: readonly (string | undefined)[] = []): string[] {
  return texts.flatMap((text) => (text === undefined || text === '' ? [] : [text]));
}
