import type { ScalarTag } from 'yaml';

/**
 * A value that a file omits: `!env NAME` stands for the environment variable with that name when the project is
 * deployed, or when the check is run.
 */
export class EnvironmentValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The YAML tag of such a value. */
export const environmentTag: ScalarTag = {
  tag: '!env',
  identify: (value) => value instanceof EnvironmentValue,
  resolve(text, onError) {
    if (!variableName.test(text))
      onError('!env needs the name of an environment variable, such as !env TOKEN');
    return new EnvironmentValue(text);
  },
  stringify: ({ value }) => (value as EnvironmentValue).name,
};

/** Returns a copy in which every such value is replaced. */
export function mapEnvironmentValues(
  value: unknown,
  map: (one: EnvironmentValue, path: readonly string[]) => unknown,
  path: readonly string[] = [],
): unknown {
  if (value instanceof EnvironmentValue) return map(value, path);
  if (Array.isArray(value)) {
    return value.map((item, index) => mapEnvironmentValues(item, map, [...path, String(index)]));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, mapEnvironmentValues(child, map, [...path, key])]),
  );
}
