import { checkTypes } from '../../../../src/checks/index.ts';

/** The values of a path's parameters, in order, that identify an object. */
export type PathValues = readonly string[];

const maxPerKind = 40;

/** Alternative paths of the same objects. */
const aliases: Readonly<Record<string, string>> = {
  '/v1/check-results/{}': '/v1/checks/{}',
  '/v2/check-results/{}': '/v1/checks/{}',
  '/v1/check-statuses/{}': '/v1/checks/{}',
  '/v1/check-alerts/{}': '/v1/checks/{}',
  '/v1/error-groups/checks/{}': '/v1/checks/{}',
  '/v1/triggers/checks/{}': '/v1/checks/{}',
  '/v1/badges/checks/{}': '/v1/checks/{}',
  ...Object.fromEntries(
    checkTypes.map((type) => [`/v1/analytics/${type.analytics.route}/{}`, `/v1/checks/${type.route}/{}`]),
  ),
  '/v1/private-locations/{}/metrics': '/v1/private-locations/{}',
  '/v1/triggers/check-groups/{}': '/v1/check-groups/{}',
  '/v1/badges/groups/{}': '/v1/check-groups/{}',
  '/v1/checks/heartbeats/{}': '/v1/checks/heartbeat/{}',
  '/v1/checks/heartbeats/{}/events/{}': '/v1/checks/heartbeat/{}/events/{}',
  '/v1/root-cause-analyses/error-groups/{}': '/v1/error-groups/{}',
  '/v1/root-cause-analyses/test-session-error-groups/{}': '/v1/test-session-error-groups/{}',
};

/** Existing objects, by their path: `/v1/incidents/{}/updates/{}`. */
export class KnownObjects {
  readonly #byPath = new Map<string, PathValues[]>();

  /** @param path with `{}` for each parameter; the object's own is last. */
  add(path: string, values: PathValues): void {
    const known = this.#byPath.get(path) ?? [];
    this.#byPath.set(path, known);
    known.push(values);
    // The first is kept: a test created it with all its parts.
    if (known.length > maxPerKind) known.splice(1, 1);
  }

  /** Removes an object and its children. Numeric ids are unique within a kind of object, other ids across all kinds. */
  remove(path: string, values: PathValues): void {
    const key = keyOf(path);
    const id = values.at(-1) ?? '';
    const isGone = (other: string, one: PathValues) =>
      /^\d+$/.test(id)
        ? (other === key || other.startsWith(`${key}/`)) && values.every((value, at) => one[at] === value)
        : one.includes(id);
    for (const [other, known] of this.#byPath) {
      this.#byPath.set(
        other,
        known.filter((one) => !isGone(other, one)),
      );
    }
  }

  /** All objects that a path of the route table may refer to. */
  of(path: string): readonly PathValues[] {
    return this.#byPath.get(keyOf(path)) ?? [];
  }

  /** The id of an object, for bodies that refer to it. @param turn any number; selects one of the known objects. */
  idOf(path: string, turn: number): string | undefined {
    const known = this.of(path);
    return known[turn % Math.max(1, known.length)]?.at(-1);
  }
}

/** A path of the route table up to its last parameter, without parameter names. */
export function keyOf(path: string): string {
  const key = path.slice(0, path.lastIndexOf('}') + 1).replaceAll(/\{\w*\}/g, '{}');
  return aliases[key] ?? key;
}

/** A path with its parameters filled in. */
export function filled(path: string, values: PathValues): string {
  let place = 0;
  return path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(values[place++] ?? ''));
}
