import type { FastifyReply, FastifyRequest } from 'fastify';

/** Returns the value of a cookie of the request. */
export function cookieOf(request: FastifyRequest, name: string): string | undefined {
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const at = part.indexOf('=');
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}

export interface CookieOptions {
  /** Lifetime in seconds; 0 deletes it. */
  readonly maxAgeSeconds: number;
  readonly isSecure: boolean;
}

/** Sets a cookie, with Base64 characters only, that page scripts cannot read. */
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

/** Over TLS, browsers accept a cookie of this name only from the host itself, not from its siblings. */
export function sessionCookieName(isSecure: boolean): string {
  return isSecure ? '__Host-picket-session' : 'picket-session';
}

/** Whether the browser uses TLS: directly, as reported by a trusted proxy, or according to PUBLIC_URL. */
export function isSecure(request: FastifyRequest, publicUrl: string | undefined): boolean {
  return request.protocol === 'https' || publicUrl?.startsWith('https:') === true;
}
