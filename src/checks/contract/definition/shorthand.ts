import { isRecord } from '@picket/lib/json/record.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Short forms of a check type in files that people write. */
export interface Shorthand {
  /** Other names of the type, in capitals and without punctuation. */
  readonly names?: readonly string[];
  /** Schemes of a URL that mean this type where a file names none. */
  readonly schemes?: readonly string[];
  /** Whether the fields need this type, where other types share one of its names or schemes. */
  needs?(fields: Fields): boolean;
  /**
   * The fields with everything that follows from others, such as the port of a name server, or from the name of the type
   * that the file uses. Names of fields are whole.
   */
  complete?(fields: Fields, name: string): Fields;
}

/** The fields with a changed request. */
export function withRequest(fields: Fields, change: (request: Fields) => Fields): Fields {
  const { request } = fields;
  return isRecord(request) ? { ...fields, request: { ...request, ...change(request) } } : fields;
}

/** `https://` in front of a URL that begins with a host. */
export function withScheme({ url }: Fields): Fields {
  const isHost =
    typeof url === 'string' &&
    /^(?:localhost|[\w-]+(?:\.[\w-]+)+|[\w-]+(?=:\d))(?::\d+)?(?:[/?#]|$)/.test(url);
  return isHost ? { url: `https://${url}` } : {};
}

/** Host and port of `db.example.com:5432` as two fields, where the port has no field of its own. */
export function splitHost({ hostname, port }: Fields): Fields {
  if (typeof hostname !== 'string' || port !== undefined) return {};
  const [host, own] = hostAndPort(hostname);
  return own === undefined ? {} : { hostname: host, port: own };
}

/** Splits `db.example.com:5432`; an IPv6 address without brackets has no port. */
export function hostAndPort(text: string): readonly [host: string, port: number | undefined] {
  const [, bracketed, plain, port] = /^(?:\[([\da-f:.]+)\]|([^:]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  return host === undefined ? [text, undefined] : [host, port === undefined ? undefined : Number(port)];
}
