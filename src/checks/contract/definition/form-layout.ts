/** How a form shows one field: what its schema does not say. */
export interface FieldLayout {
  readonly label?: string;
  readonly hint?: string;
  /** Lines of a text that has several. */
  readonly lines?: number;
  /** It is a program, or a text that is read by one. */
  readonly isCode?: boolean;
  /** A part that is folded until somebody opens it. */
  readonly isFolded?: boolean;
  /** Not in the form: it stays as it is. */
  readonly isHidden?: boolean;
  /** What choices are called, by their values. */
  readonly words?: Readonly<Record<string, string>>;
}

/**
 * How a form shows the fields of a type, by their paths (`*` for the number of a row), in the order in which they
 * are shown; fields that are not named come after those, as their schema has them. A type needs no layout.
 */
export type FormLayout = Readonly<Record<string, FieldLayout>>;
