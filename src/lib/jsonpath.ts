import { compile, type JSONPathQuery, type JSONValue } from 'json-p3';
import { toError } from './errors.ts';
import { LruMap } from './lru.ts';

const queries = new LruMap<string, JSONPathQuery>(1000);

/** A JSON path that is not valid, or cannot be evaluated on this document. */
export class JsonPathError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'JsonPathError';
  }
}

/**
 * The values a JSON path (RFC 9535) selects, in document order. One extension: `.length` at the end of a path
 * gives the length of the arrays and strings before it, unless members of that name exist.
 *
 * @param document a JSON value, as `JSON.parse` gives it.
 * @throws JsonPathError
 */
export function selectJson(path: string, document: unknown): unknown[] {
  try {
    const values = queryOf(path)
      .query(document as JSONValue)
      .values();
    if (values.length > 0 || !path.endsWith(lengthSuffix)) return values;
    const measured = queryOf(path.slice(0, -lengthSuffix.length))
      .query(document as JSONValue)
      .values();
    return measured.flatMap((value) =>
      Array.isArray(value) || typeof value === 'string' ? [value.length] : [],
    );
  } catch (thrown) {
    throw new JsonPathError(`${path} is not a usable JSON path: ${toError(thrown).message}`);
  }
}

const lengthSuffix = '.length';

function queryOf(path: string): JSONPathQuery {
  return queries.getOrMake(path, () => compile(path));
}
