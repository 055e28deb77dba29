/** How a form shows one field, beyond its schema. */
export interface FieldLayout {
  readonly label?: string;
  readonly hint?: string;
  /** Height of a multi-line text, in lines. */
  readonly lines?: number;
  /** Whether the text is code or is parsed by a program. */
  readonly isCode?: boolean;
  /** Whether the section is collapsed initially. */
  readonly isFolded?: boolean;
  /** Whether the form omits the field and leaves its value unchanged. */
  readonly isHidden?: boolean;
  /** Labels of the choices, by value. */
  readonly words?: Readonly<Record<string, string>>;
}

/**
 * How a form shows the fields of a type, by their paths (`*` for the index of a row), in display order; other fields
 * follow, in the order of their schema. A type needs no layout.
 */
export type FormLayout = Readonly<Record<string, FieldLayout>>;
