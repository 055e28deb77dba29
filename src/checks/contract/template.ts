/** Content that a new check of a type can start from. */
export interface Template {
  readonly title: string;
  /** Values of the form, by the paths of its fields. */
  readonly fields: Readonly<Record<string, string>>;
}
