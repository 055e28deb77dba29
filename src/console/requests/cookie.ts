import type { FastifyReply, FastifyRequest } from 'fastify';

/** The value of a cookie that the browser sent. */
export function cookieOf(request: FastifyRequest, name: string): string | undefined {
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const at = part.indexOf('=');
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}

export interface CookieOptions {
  /** Seconds it is kept; 0 removes it. */
  readonly maxAgeSeconds: number;
  readonly isSecure: boolean;
}

/** Keeps a value, of the letters of Base64, that scripts of pages cannot read. */
export function setCookie(
  reply: FastifyReply,
  name: string,
  value: string,
  { maxAgeSeconds, isSecure }: CookieOptions,
): void {
  const secure = isSecure ? '; Secure' : '';
  reply.header(
    'set-cookie',
    `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure}`,
  );
}

/** Over TLS browsers take a cookie of this name only from the host itself, not from its neighbours. */
export function sessionCookieName(isSecure: boolean): string {
  return isSecure ? '__Host-picket-session' : 'picket-session';
}

/** Whether the browser came over TLS: directly, by the word of a trusted proxy, or as PUBLIC_URL says. */
export function isSecure(request: FastifyRequest, publicUrl: string | undefined): boolean {
  return request.protocol === 'https' || publicUrl?.startsWith('https:') === true;
}
