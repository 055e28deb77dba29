import { parse } from 'node:querystring';

/**
 * Parses the parameters of a query. Clients write lists in two ways, `tag=a&tag=b` and `tag[]=a&tag[]=b`: both are the
 * list `tag`. The object has no prototype, so that every name is an ordinary key.
 */
export function parseQuery(text: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  for (const [name, value = ''] of Object.entries(parse(text))) {
    const isList = name.length > 2 && name.endsWith('[]');
    const key = isList ? name.slice(0, -2) : name;
    const known = query[key];
    query[key] = known === undefined && !isList ? value : [known ?? [], value].flat();
  }
  return query;
}
