/** An object of a resource, as the API shows it. */
export type Shown = Readonly<Record<string, unknown>>;
