import { html as honoHtml, raw } from 'hono/html';

/** Markup that is safe to send: made by `html`, with every text in it escaped. */
export type Html = ReturnType<typeof raw>;

/** What may stand in a template: texts are escaped, markup is not, absent values leave nothing. */
export type Content = string | number | Html | false | null | undefined | readonly Content[];

/** A template of markup. All that people, targets and scripts wrote comes into pages through here. */
export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  // It is a promise only when a value is one, which the type above rules out.
  return honoHtml(strings, ...values) as Html;
}

/** Nothing, where markup is expected. */
export const nothing: Html = raw('');

/** The path of a link, with its parameters encoded. */
export function path(strings: TemplateStringsArray, ...parameters: readonly (string | number)[]): string {
  return String.raw({ raw: strings }, ...parameters.map((one) => encodeURIComponent(one)));
}

/** A path with a query; parameters without a value are left out. */
export function withQuery(
  base: string,
  query: Readonly<Record<string, string | number | undefined>>,
): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)] as [string, string]],
  );
  return given.length === 0 ? base : `${base}?${new URLSearchParams(given)}`;
}
