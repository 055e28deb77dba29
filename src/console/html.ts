import { html as honoHtml, raw } from 'hono/html';

/** Safe markup: created by `html`, which escapes every text in it. */
export type Html = ReturnType<typeof raw>;

/** Values allowed in a template: texts are escaped, markup is not, absent values produce nothing. */
export type Content = string | number | Html | false | null | undefined | readonly Content[];

/** Creates markup from a template. All texts of users, targets and scripts enter pages through this function. */
export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  // It is a promise only if a value is one, which the type above rules out.
  return honoHtml(strings, ...values) as Html;
}

/** Empty markup. */
export const nothing: Html = raw('');

/** Creates the path of a link, with its parameters encoded. */
export function path(strings: TemplateStringsArray, ...parameters: readonly (string | number)[]): string {
  return String.raw({ raw: strings }, ...parameters.map((one) => encodeURIComponent(one)));
}

/** Adds a query to a path; omits parameters without a value. */
export function withQuery(
  base: string,
  query: Readonly<Record<string, string | number | undefined>>,
): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)] as [string, string]],
  );
  return given.length === 0 ? base : `${base}?${new URLSearchParams(given)}`;
}
