import type { OutboundRequest } from './channel.ts';

/** A request with a JSON body. Keys of `headers` are the names as sent. */
export function sendJson(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): OutboundRequest {
  return {
    url,
    method: 'POST',
    headers: [
      ['content-type', 'application/json; charset=utf-8'],
      ['user-agent', 'picket'],
      ...Object.entries(headers),
    ],
    body: JSON.stringify(body),
  };
}

/** Parses a text as JSON; undefined if it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
