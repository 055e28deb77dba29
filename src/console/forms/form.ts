import type { LazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import type { z } from 'zod';
import type { Html } from '../html.ts';
import { type Field, fieldsOf, initialOf } from './field.ts';
import type { Problems } from './problems.ts';
import { objectOf, valuesOf } from './values.ts';
import { fieldViews, type Words } from './view.ts';

interface FormState {
  /** Input values: the stored ones, or those that were sent and refused. */
  readonly values: URLSearchParams;
  readonly problems?: Problems | undefined;
  /** Whether a stored value exists that an empty secret field keeps. */
  readonly isStored?: boolean;
}

/**
 * The form of a whole object: its fields one below the other, described by its schema and additional words. An empty
 * field has its default; hidden fields are not part of the object.
 */
export class Form {
  readonly #schema: z.ZodObject | LazySchema<z.ZodObject>;
  #shown: readonly Field[] | undefined;
  readonly #words: Words;
  readonly #prefix: string;

  /** @param prefix precedes the name of every input. */
  constructor(schema: z.ZodObject | LazySchema<z.ZodObject>, words: Words, prefix = '') {
    this.#schema = schema;
    this.#words = words;
    this.#prefix = prefix;
  }

  get #fields(): readonly Field[] {
    this.#shown ??= shownOf(fieldsOf(this.#schema.shape, this.#prefix), this.#words);
    return this.#shown;
  }

  /** Returns the input values of a new object. */
  defaults(): URLSearchParams {
    return this.values(initialOf(this.#schema.shape));
  }

  /** Returns the input values of an object. */
  values(object: unknown): URLSearchParams {
    return valuesOf(this.#fields, object, this.#prefix);
  }

  /** Parses the object that was sent. @param stored basis for empty secrets and unchanged lists. */
  object(sent: URLSearchParams, stored?: object): Record<string, unknown> {
    const secrets = this.#fields.filter(({ pattern }) => this.#words[pattern]?.isSecret);
    const before = stored && { ...Object.fromEntries(secrets.map(({ key }) => [key, ''])), ...stored };
    return objectOf(this.#fields, sent, before, this.#prefix);
  }

  /** Whether one of its fields has a problem. */
  hasProblem(problems: Problems | undefined): boolean {
    const names = this.#fields.map(({ pattern }) => pattern);
    return [...(problems?.fields.keys() ?? [])].some((key) => names.includes(key.split('.')[0] ?? ''));
  }

  view({ values, problems, isStored = false }: FormState): Html {
    const secrets = Object.entries(this.#words).flatMap(([name, own]) => (own.isSecret ? [name] : []));
    const hidden = new Set(isStored ? secrets : []);
    return fieldViews(this.#fields, { layout: this.#words, values, problems, hidden }, this.#prefix);
  }
}

function shownOf(fields: readonly Field[], words: Words): Field[] {
  return fields.flatMap((field): Field[] => {
    if (words[field.pattern]?.isHidden) return [];
    const whole = { ...field, isDefaultWhenEmpty: true };
    return ['fields' in whole ? { ...whole, fields: shownOf(whole.fields, words) } : whole];
  });
}
