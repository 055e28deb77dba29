import type { OutboundRequest } from './channel.ts';

/** A request with a JSON body. Keys of `headers` are the names as they are sent. */
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

/** A text as the JSON it is, or undefined. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // What is not JSON says nothing that anybody could read.
    return undefined;
  }
}
