/**
 * A table that is looked up by names from outside. It has its own entries only: `constructor` and `toString`, which
 * every object inherits, are no names of it.
 */
export function dictionary<T>(entries: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.freeze(Object.assign(Object.create(null) as Record<string, T>, entries));
}
